"""The table of operations: it is complete, its consumers' rules are for what is in it, and what is not is an error."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend import core as jex_core
from launches import prepared

import xeemu as xe
from xeemu.cost import instructions
from xeemu.devices import aspects
from xeemu.devices.target import CPU
from xeemu.faults import absence, alignment
from xeemu.ir import ops, printer, table
from xeemu.ir.table import Kind, Traits
from xeemu.knowledge import (
    constant_folding,
    conversions,
    dataflow,
    forms,
    growth,
    intervals,
    symbolic_execution,
    work,
)
from xeemu.language import lineage, linearity, primitives, separation, source
from xeemu.launching import preparation
from xeemu.stepping import flattening, lanewise

ITEMS = 24  # the second sub-group has lanes that are absent
RANGE = xe.NDRange(ITEMS, ITEMS)

# --- What is in the table ---


def test_it_has_every_operation_of_the_language_and_no_other():
    language = {name for name in table.OPS if name.startswith("xe_")}
    assert language == {p.name for p in vars(primitives).values() if isinstance(p, jex_core.Primitive)}


def test_it_has_what_jax_lets_a_kernel_compute_with():
    public = jex_core.primitives
    names = {p.name for p in vars(public).values() if isinstance(p, jex_core.Primitive)}
    # They are about several devices, the order of effects, or memories of JAX's own.
    others = {
        "addupdate", "after_all", "all_gather", "all_to_all", "axis_index", "create_token", "get", "pmax", "pmin",
        "ppermute", "psum", "ragged_all_to_all", "sharding_constraint", "swap",
    }  # fmt: skip
    assert names - others <= table.OPS.keys()


@pytest.mark.parametrize(
    ("rules", "holds"),
    [(constant_folding.ELEMENTWISE, "folds"), (constant_folding.MOVES, "moves")],
    ids=["folding.ELEMENTWISE", "folding.MOVES"],
)
def test_rules_are_for_the_operations_that_the_table_says(rules, holds):
    assert rules.keys() == {name for name, op in table.OPS.items() if getattr(op, holds)}


@pytest.mark.parametrize(
    "rules", [intervals._RULES, forms._RULES, printer._SIGNS], ids=["intervals", "forms", "listing"]
)
def test_other_rules_are_for_known_operations(rules):
    assert rules.keys() <= table.OPS.keys()


@pytest.mark.parametrize("rules", [alignment._RULES, growth.RULES], ids=["alignment", "growth"])
def test_rules_of_expressions_are_for_known_operations(rules):
    assert rules.keys() <= table.OPS.keys() | {"element", "table"}


# --- What is not ---


def _primitive(name):
    made = jex_core.Primitive(name)
    made.multiple_results = True
    made.def_abstract_eval(lambda x: [jax.core.ShapedArray(x.shape, x.dtype)])
    return made


mystery_p = _primitive("mystery")


@xe.kernel(sub_group_size=16)
def with_mystery(wg, x):
    i = wg.local_id()
    return x.at[i].set(wg.sub_group.shift_left(mystery_p.bind(x[i])[0], 1))


@pytest.fixture
def ready(monkeypatch):
    """The launch of a kernel with an operation that was known, as one that is elementwise, until it was prepared."""
    with monkeypatch.context() as patch:
        patch.setitem(table.OPS, "mystery", Traits("mystery", Kind.ELEMENTWISE))
        yield prepared(with_mystery, RANGE, [np.zeros(ITEMS, np.int32)], device="max1550")
        preparation._prepared.cache_clear()


def _mystery(ready):
    return next(op for op in ready.program.body.ops if op.name == "mystery")


CONSUMERS = {
    "dataflow": lambda ready: dataflow.analyse(ready.program),
    "symbolic execution": lambda ready: symbolic_execution.of_program(ready.program, ready.facts, (None,)),
    "listing": lambda ready: str(ready.program),
    "interpreter": lambda ready: jax.make_jaxpr(ready.emit)(jnp.zeros(ITEMS, jnp.int32)),
    "stepping": lambda ready: flattening.of_program(ready.program),
    "absent lanes": lambda ready: absence.uses(ready.program, (None,)),
    "lanewise": lambda ready: lanewise.results(_mystery(ready), [True], 1),
}
OTHERS = {
    "work": lambda ready: work.of_body(ready.facts, CPU.threads),
    "conversions": lambda ready: conversions.check(ready.program, ready.facts),
    "lineage": lambda ready: lineage.of_body(ready.program.body),
    "linearity": lambda ready: linearity.check(ready.program.body, ready.program.arguments, source.UNKNOWN),
    "separation": lambda ready: separation.of_program(ready.program.body, ready.program.geometry),
    "aspects": lambda ready: aspects.check(ready.program, dataclasses.replace(xe.device("max1550"), fp64=False)),
    "instructions": lambda ready: instructions.of_op(_mystery(ready), ready.facts, ready.program.geometry),
}


def test_a_kernel_with_an_unknown_operation_is_refused_with_its_line():
    with pytest.raises(
        xe.KernelError, match=r"the operation mystery of JAX is none that xeemu knows(?s:.)*test_ops\.py"
    ):
        xe.trace(with_mystery, RANGE)(jax.ShapeDtypeStruct((ITEMS,), jnp.int32))


@pytest.mark.parametrize("consumer", [*CONSUMERS.items(), *OTHERS.items()], ids=lambda item: item[0])
def test_an_operation_that_is_not_in_the_table_is_an_error_that_names_it(consumer, ready, monkeypatch):
    monkeypatch.delitem(table.OPS, "mystery")
    with pytest.raises(xe.KernelError, match="the operation mystery"):
        consumer[1](ready)


@pytest.mark.parametrize("consumer", CONSUMERS.items(), ids=lambda item: item[0])
def test_one_of_the_language_without_a_rule_is_taken_for_no_other(consumer, ready, monkeypatch):
    monkeypatch.setattr(ops, "LANGUAGE", ops.LANGUAGE | {"mystery"})
    monkeypatch.setitem(table.OPS, "mystery", Traits("mystery", Kind.STEERING))
    with pytest.raises(NotImplementedError, match="has no rule for the operation mystery"):
        consumer[1](ready)
