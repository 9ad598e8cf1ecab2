"""How JAX's own operations and branches are carried out, as it is decided before anything is emitted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from launches import prepared

import xeemu as xe
from xeemu.devices.target import CPU, GPU
from xeemu.planning import branch_plans, layout_assignment
from xeemu.planning.branch_plans import Divergent, Folded, Uniform
from xeemu.planning.compare_fusion import Comparison
from xeemu.planning.layout_assignment import Setting
from xeemu.planning.layouts import BY_ITEM
from xeemu.planning.operation_plans import (
    AsItIs,
    Elementwise,
    Exact,
    Formed,
    Lifted,
    Movement,
    Multiplied,
    Unsigned,
)

ITEMS, GROUPS = 16, 4


def ready(function, dtype=np.int32):
    """What is prepared, as it was written, of a kernel that stores what a function gives `(group, x, n)`."""

    @xe.kernel
    def kernel(wg, x, n, out):
        i = wg.global_id()
        return out.at[i].set(function(wg, x[i], n).astype(out.dtype))

    x = np.ones(GROUPS * ITEMS, dtype)
    return prepared(kernel, xe.NDRange(x.size, ITEMS), (x, np.int32(3), np.zeros_like(x)))


def plans(function, name, dtype=np.int32, **setting):
    """Those of the operations of a name."""
    launch = ready(function, dtype)
    body, geometry = launch.program.body, launch.program.geometry
    given = (BY_ITEM,) * len(body.inputs)
    found = layout_assignment.of_body(launch.facts, given, Setting(geometry, **setting))
    return [found.plans[n] for n, op in enumerate(body.ops) if op.name == name]


def test_what_the_program_decides_on_is_no_array():
    assert plans(lambda wg, x, n: x + (wg.local_id() * 3 + n), "mul")[-1] == Formed()


def test_operations_on_elements_movements_and_all_others():
    assert plans(lambda wg, x, n: x ^ (x << 3), "xor") == [Elementwise(AsItIs())]
    assert plans(lambda wg, x, n: x[::-1], "rev") == [Movement()]
    assert plans(lambda wg, x, n: lax.cumsum(x), "cumsum") == [Lifted(AsItIs())]


def test_what_gives_nothing_is_carried_out_all_the_same():
    def printing(wg, x, n):
        jax.debug.print("{}", n)
        return x

    assert plans(printing, "debug_print") + plans(printing, "debug_callback") == [Lifted(AsItIs())]


@pytest.mark.parametrize(
    ("function", "multiplies", "binding"),
    [
        (lambda wg, x, n: lax.div(x, jnp.full_like(x, n)), True, Multiplied()),
        (lambda wg, x, n: lax.div(x, n), False, AsItIs()),
        (lambda wg, x, n: lax.div(x & 7, jnp.int32(3)), True, Unsigned()),
    ],
)
def test_divisions(function, multiplies, binding):
    assert binding in [plan.binding for plan in plans(function, "div", multiplies=multiplies)]


def test_operations_on_floats_that_xla_might_carry_out_in_another_way():
    assert plans(lambda wg, x, n: x * np.float32(1e30), "mul", np.float32)[-1] == Elementwise(Exact())
    assert plans(lambda wg, x, n: x + np.float32(1e30), "add", np.float32)[-1] == Elementwise(Exact())
    assert plans(lambda wg, x, n: np.float32(0) + x, "add", np.float32)[-1] == Elementwise(Exact(0, selector=1))
    assert plans(lambda wg, x, n: np.float32(1) / x, "div", np.float32)[-1] == Elementwise(Exact(1, selector=1))
    assert plans(lambda wg, x, n: x / n.astype(x.dtype), "div", np.float32)[-1] == Elementwise(Exact(1, selector=0))
    assert plans(lambda wg, x, n: x * x, "mul", np.float32)[-1] == Elementwise(AsItIs())


def test_fields_of_one_value_are_one_comparison_unless_somebody_follows():
    both = lambda wg, x, n: ((x & 3) == 1) & ((x >> 2) & 3 == 2)  # noqa: E731
    assert [type(plan) for plan in plans(both, "and")][-1] is Comparison
    assert [type(plan) for plan in plans(both, "and", followed=True)][-1] is Elementwise


def test_a_comparison_spares_the_fields():
    launch = ready(lambda wg, x, n: ((x & 3) == 1) & ((x >> 2) & 3 == 2))
    body = launch.program.body
    given = (BY_ITEM,) * len(body.inputs)
    found = layout_assignment.of_body(launch.facts, given, Setting(launch.program.geometry))
    assert [body.ops[n].name for n in found.spared.values()].count("eq") == 2


@pytest.mark.parametrize(
    ("which", "watched", "target", "plan"),
    [
        (lambda wg, x: wg.group_range() + 5, False, CPU, Folded(1)),
        (lambda wg, x: wg.group_range() + 5, True, CPU, Uniform()),
        (lambda wg, x: wg.group_id() & 1, False, CPU, Divergent(True)),
        (lambda wg, x: wg.group_id() & 1, False, GPU, Divergent(False)),
    ],
)
def test_branches(which, watched, target, plan):
    launch = ready(lambda wg, x, n: lax.switch(which(wg, x), [lambda: x, lambda: x * 2]))
    (choice,) = [op for op in launch.program.body.ops if op.name == "cond"]
    assert branch_plans.of_choice(choice, launch.facts, watched, target) == plan
