"""The table of operations: it is complete, its consumers' rules are for what is in it, and what is not is an error."""

import copy
import dataclasses
import types
from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend import core as jex_core
from launches import prepared

import xeemu as xe
from xeemu.cost import liveness, operations, traffic
from xeemu.devices import aspects
from xeemu.devices.target import CPU
from xeemu.faults import absence, alignment, initialisation
from xeemu.ir import ops, printer, table
from xeemu.ir.table import Kind, Traits
from xeemu.knowledge import (
    conflicts,
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
from xeemu.launching import chunking, preparation
from xeemu.planning import hazards
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
    "rules",
    [intervals._RULES, forms._RULES, forms.FACTORS, printer._SIGNS],
    ids=["intervals", "forms", "factors", "listing"],
)
def test_other_rules_are_for_known_operations(rules):
    assert rules.keys() <= table.OPS.keys()


@pytest.mark.parametrize("rules", [alignment._RULES, growth.RULES], ids=["alignment", "growth"])
def test_rules_of_expressions_are_for_known_operations(rules):
    assert rules.keys() <= table.OPS.keys() | {"table"}


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
    "operations": lambda ready: operations.of_op(
        _mystery(ready), ready.facts, ready.program.geometry, xe.device("h200")
    ),
}


def test_a_kernel_with_an_unknown_operation_is_refused_with_its_line():
    with pytest.raises(
        xe.KernelError, match=r"the operation mystery of JAX is none that xeemu knows(?s:.)*test_ops\.py"
    ):
        xe.trace(with_mystery, RANGE)(jax.ShapeDtypeStruct((ITEMS,), jnp.int32))


def test_an_operation_whose_programs_the_importer_does_not_find_is_an_error_that_names_it(monkeypatch):
    monkeypatch.setitem(table.OPS, "mystery", Traits("mystery", Kind.CONTROL))
    with pytest.raises(NotImplementedError, match="the importer has no rule for the operation mystery"):
        xe.trace(with_mystery, RANGE)(jax.ShapeDtypeStruct((ITEMS,), jnp.int32))


@pytest.mark.whole
@pytest.mark.parametrize("consumer", [*CONSUMERS.items(), *OTHERS.items()], ids=lambda item: item[0])
def test_an_operation_that_is_not_in_the_table_is_an_error_that_names_it(consumer, ready, monkeypatch):
    monkeypatch.delitem(table.OPS, "mystery")
    with pytest.raises(xe.KernelError, match="the operation mystery"):
        consumer[1](ready)


@pytest.mark.whole
@pytest.mark.parametrize("consumer", CONSUMERS.items(), ids=lambda item: item[0])
def test_one_of_the_language_without_a_rule_is_taken_for_no_other(consumer, ready, monkeypatch):
    monkeypatch.setattr(ops, "LANGUAGE", ops.LANGUAGE | {"mystery"})
    monkeypatch.setitem(table.OPS, "mystery", Traits("mystery", Kind.STEERING))
    with pytest.raises(NotImplementedError, match="has no rule for the operation mystery"):
        consumer[1](ready)


# --- An access of another name ---

MADE_UP = "xe_mystery"
KINDS = ("load", "store", "atomic")


def _accessing():
    """A launch of a kernel with accesses of each kind, traced anew, and its arguments."""

    @xe.kernel(sub_group_size=16)
    def with_accesses(wg, x, counts):
        i = wg.local_id()
        tile = wg.local(ITEMS, jnp.int32)
        tile = wg.barrier(tile.at[i].set(x[i], where=i > 0))
        tile, _ = tile, x[i + 1]
        counts = counts.atomic[x[i] & 1].add(1)
        return x.at[i].set(tile[ITEMS - 1 - i]), counts

    arguments = [np.arange(1, ITEMS + 1, dtype=np.int32), np.zeros(2, np.int32)]
    return types.SimpleNamespace(
        ready=prepared(with_accesses, RANGE, arguments, device="max1550"),
        kernel=with_accesses,
        arguments=arguments,
    )


def _rename(kind, monkeypatch):
    """Gives the accesses of a kind another name, of which there is only the row in the table, with the same traits."""
    _add(dataclasses.replace(table.OPS[f"xe_{kind}"], name=MADE_UP), monkeypatch)
    renamed = copy.copy(getattr(primitives, f"{kind}_p"))
    renamed.name = MADE_UP
    monkeypatch.setattr(primitives, f"{kind}_p", renamed)


def _add(row, monkeypatch):
    monkeypatch.setitem(table.OPS, row.name, row)
    for names in ("LANGUAGE", "ACCESSES", *(["UPDATES"] if row.updates else [])):
        monkeypatch.setattr(ops, names, getattr(ops, names) | {row.name})


def _name(monkeypatch):
    """Gives them a kind of their own as well."""
    monkeypatch.setattr(ops, "_ACCESS_KINDS", {**ops._ACCESS_KINDS, MADE_UP: "mystery"})


def _tree(ready):
    return symbolic_execution.of_program(ready.program, ready.facts, (None, None))


def _hazards(ready):
    found = hazards.of_body(ready.facts)
    numbers = (found.gathered, found.waits, found.scattered, found.entangled, found.rewritten)
    return [sorted(each) for each in numbers]


def _known(ready):
    known = [ready.facts.values[value] for op in ready.facts.body.ops for value in op.results]
    return [(each.varying, each.interval, each.space) for each in known]


def _reach(operations):
    return [[conflicts.reach(a, b) for b in operations] for a in operations]


def _loading(operations):
    census = types.SimpleNamespace(operations={o.key: (o,) for o in operations})
    return [o.access_site.memory.name for each in traffic.loading(census) for o in each]


BY_ROW = {
    "dataflow": lambda one: _known(one.ready),
    "hazards": lambda one: _hazards(one.ready),
    "lanewise": lambda one: lanewise.of_body(one.ready.program.body, [False, False], 1),
    "absent lanes": lambda one: len(absence.uses(one.ready.program, (None, None))),
    "order of groups": lambda one: chunking._is_ordered(one.ready.analysed),
    "work": lambda one: work.of_body(one.ready.facts, CPU.threads),
    "program": lambda one: sorted(m.name for m in one.ready.program.written),
}
BY_NAME = {
    "symbolic execution": lambda one: len(list(_tree(one.ready).root.operations())),
    "listing": lambda one: str(one.ready.program),
    "stepping": lambda one: len(flattening.of_program(one.ready.program).steps),
    "check": lambda one: str(xe.check(one.kernel, RANGE)(*one.arguments)),
    "profile": lambda one: str(xe.profile(one.kernel, RANGE, device="max1550")(*one.arguments)),
}
BY_KIND = {
    "conflicts": lambda one: _reach(list(_tree(one.ready).root.operations())),
    "initialisation": lambda one: [
        (initialisation.reads(o), initialisation.writes(o)) for o in _tree(one.ready).root.operations()
    ],
    "liveness": lambda one: len(liveness.unused_loads(_tree(one.ready))),
    "traffic": lambda one: _loading(list(_tree(one.ready).root.operations())),
    "waits": lambda one: [o.fetches for o in _tree(one.ready).root.operations()],
}


@pytest.mark.whole
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("consumer", BY_ROW.items(), ids=lambda item: item[0])
def test_an_access_is_what_its_row_says(consumer, kind, monkeypatch):
    usual = consumer[1](_accessing())
    _rename(kind, monkeypatch)
    assert consumer[1](_accessing()) == usual


@pytest.mark.whole
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("consumer", BY_NAME.items(), ids=lambda item: item[0])
def test_an_access_for_which_a_consumer_has_no_rule_is_taken_for_no_other(consumer, kind, monkeypatch):
    _rename(kind, monkeypatch)
    with pytest.raises(NotImplementedError, match=f"has no rule for the operation {MADE_UP}"):
        consumer[1](_accessing())


def _launched(one):
    return [each.tolist() for each in xe.launch(one.kernel, RANGE)(*one.arguments)]


def test_what_only_loads_is_carried_out_as_a_load(monkeypatch):
    usual = _launched(_accessing())
    _rename("load", monkeypatch)
    assert _launched(_accessing()) == usual


@pytest.mark.parametrize("kind", ["store", "atomic"])
def test_what_changes_memory_is_carried_out_as_nothing_else(kind, monkeypatch):
    _rename(kind, monkeypatch)
    _name(monkeypatch)
    with pytest.raises(NotImplementedError, match=f"the choice of plans of accesses has no rule.*{MADE_UP}"):
        _launched(_accessing())


@pytest.mark.whole
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("consumer", BY_KIND.items(), ids=lambda item: item[0])
def test_an_access_with_a_kind_of_its_own_counts_as_its_row_says(consumer, kind, monkeypatch):
    usual = consumer[1](_accessing())
    _rename(kind, monkeypatch)
    _name(monkeypatch)
    assert consumer[1](_accessing()) == usual


@pytest.mark.parametrize("masked", [False, True])
def test_an_access_that_neither_gives_nor_changes_anything_costs_and_harms_nobody(masked, monkeypatch):
    """Of a hint, such as a prefetch, there need be no more than its primitive, its row and its text."""
    _add(Traits(MADE_UP, Kind.ACCESS, reads=True), monkeypatch)
    _name(monkeypatch)
    monkeypatch.setitem(printer._LANGUAGE, MADE_UP, printer._access)
    hint = primitives._primitive(MADE_UP.removeprefix("xe_"), lambda memory, *_, access: [])

    @xe.kernel(sub_group_size=16)
    def hinting(wg, x, unset):
        i = wg.global_id()
        for memory in (x, unset):
            arrays, access = memory._access(ITEMS - 1 - x[i], [("where=", i > 3)] if masked else [], None)
            hint.bind(memory._version, *arrays, access=access)
        return x.at[i].set(x[i] + 1)

    x = np.arange(ITEMS, dtype=np.int32)
    assert "mystery x[" in str(xe.trace(hinting, RANGE)(x, x))
    checked, findings = xe.check(hinting, RANGE, unset={"unset": np.ones(4 * ITEMS, bool)})(x, x)
    assert not findings, str(findings)
    for result in (checked, xe.launch(hinting, RANGE)(x, x)):
        np.testing.assert_array_equal(result, x + 1)
    steps = xe.inspect(hinting, RANGE, group=0)(x, x).steps
    assert [access.op for step in steps for access in step.accesses] == [
        "load",
        "mystery",
        "load",
        "mystery",
        "load",
        "store",
    ]
    _, report = xe.profile(hinting, RANGE, device="max1550")(x, x)
    assert [site.bytes_moved for site in report.sites if site.op == "mystery"] == [3 * 64, 3 * 64]  # lines


def test_each_kind_of_access_has_a_row():
    assert {f"xe_{kind}" for kind in get_args(table.AccessKind)} == ops.ACCESSES


# --- Each of them in use ---


def _stage(wg, x):
    i = wg.local_id()
    tile = wg.local(ITEMS, jnp.int32)
    tile = wg.barrier(tile.at[i].set(x[i]))
    return x.at[i].set(tile[ITEMS - 1 - x[i]])


def _order(wg, x):
    i = wg.local_id()
    x = wg.fence(x.at[i].set(x[i] + 1))
    return x.at[i].set(x[i] + wg.group_id())


def _count(wg, x):
    return x.atomic[wg.local_id() & 1].add(1)


def _vote(wg, x):
    i = wg.local_id()
    return x.at[i].set(wg.sub_group.any(x[i] > 20).astype(jnp.int32))


def _repeat(wg, x):
    i = wg.local_id()
    return x.at[i].set(wg.fori_loop(0, x[i], lambda k, total: total + k, jnp.zeros_like(i)))


SMALLEST = {
    "xe_allocate": _stage,
    "xe_atomic": _count,
    "xe_barrier": _stage,
    "xe_collective": _vote,
    "xe_fence": _order,
    "xe_group_id": _order,
    "xe_load": _stage,
    "xe_local_id": _stage,
    "xe_region": _repeat,
    "xe_store": _stage,
    "xe_uniform": _repeat,
}
"""For each operation of the language a kernel that has it, as small as it can be."""


def test_each_operation_of_the_language_has_a_kernel_here():
    assert SMALLEST.keys() == ops.LANGUAGE


@pytest.mark.whole
@pytest.mark.parametrize("body", dict.fromkeys(SMALLEST.values()), ids=lambda body: body.__name__)
def test_an_operation_can_be_listed_launched_checked_counted_and_looked_into(body):
    kernel, x = xe.kernel(body, sub_group_size=16), np.arange(ITEMS, dtype=np.int32)
    program = xe.trace(kernel, RANGE)(x)
    assert {name for name, each in SMALLEST.items() if each is body} <= {op.name for op in program.body.walk()}
    assert str(program)
    launched = np.asarray(xe.launch(kernel, RANGE)(x))
    assert (launched != x).any()
    checked, findings = xe.check(kernel, RANGE)(x)
    assert not findings, str(findings)
    np.testing.assert_array_equal(checked, launched)
    inspection = xe.inspect(kernel, RANGE, group=0)(x)
    assert any(step.accesses for step in inspection.steps)
    _, report = xe.profile(kernel, RANGE, device="max1550")(x)
    assert report.sites
