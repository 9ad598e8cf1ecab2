"""The intermediate representation: what is imported, what is printed of it, and what the verifier refuses."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe
from xeemu.ir import printer
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.ir.verifier import InvalidProgram, verify
from xeemu.kernels import EXAMPLES
from xeemu.language import listing
from xeemu.language.primitives import AccessAttributes

TABLE = np.arange(64, dtype=np.int32)


@xe.kernel
def everything(wg, x, n, out):
    """Memories, a loop that carries one, a branch, a loop without an end that is known, a constant array."""
    lid = wg.local_id()
    tile = wg.local(64, jnp.int32)
    tile = tile.at[lid].set(x[wg.global_id()] + TABLE)
    tile = wg.barrier(tile)
    tile = lax.fori_loop(0, 4, lambda k, tile: wg.barrier(tile.at[lid].set(tile[(lid + k) % 64])), tile)
    tile = lax.cond(n > 3, lambda t: t.at[lid].set(0), lambda t: t, tile)
    count = lax.while_loop(lambda c: c < n, lambda c: 2 * c, jnp.int32(1))
    return out.at[wg.global_id()].set(tile[lid] + count)


def program(kernel=everything, items=128, *arguments):
    data = np.zeros(items, np.int32)
    return xe.trace(kernel, xe.NDRange(items, 64))(*(arguments or (data, np.int32(5), data)))


def region(kernel=everything):
    return listing.of_kernel(program(kernel))


def test_operations_of_inner_regions_see_what_is_around_them():
    imported = region()
    loop, branch = (next(op for op in imported.ops if op.name == name) for name in ("scan", "cond"))
    (body,) = loop.regions
    ids = next(op.results[0] for op in imported.ops if op.name == "xe_local_id")
    assert any(ids in op.operands for op in body.ops)
    assert [value.memory for value in body.inputs] == ["", "tile"]
    assert all(not inner.inputs for inner in branch.regions)
    assert [value.memory for value in branch.results] == ["tile"]


def uses(region):
    """All values that a region and those in it use, and all that they give."""
    used, given = set(region.outputs), set(region.inputs)
    for op in region.ops:
        inner = list(map(uses, op.regions))
        used |= set(op.operands).union(*(pair[0] for pair in inner))
        given |= set(op.results).union(*(pair[1] for pair in inner))
    return used, given


def test_a_region_sees_what_it_uses_and_does_not_give():
    regions = [region for op in program().body.walk() for region in op.regions]
    for region in regions:
        used, given = uses(region)
        assert set(region.captures) == {v for v in used - given if not isinstance(v, Constant)}
    assert any(region.captures for region in regions)


def test_calls_are_written_out():
    assert {op.name for op in region().walk()}.isdisjoint({"pjit", "jit", "closed_call"})


def test_a_constant_array_is_one_value():
    constants = {v for op in region().walk() for v in op.operands if isinstance(v, Constant) and not v.is_literal}
    assert [c.array.tolist() for c in constants] == [TABLE.tolist()]


def test_the_text_has_an_operation_per_line():
    assert "\n".join(code for code, _ in printer.rows(region(), lambda op: "")) == GOLDEN.strip("\n")


GOLDEN = """
v1:i32[64] = local_id 0
tile = local i32[64]
v2:i32 = group_id 0
v3:i32 = v2 * 64
v4:i32[64] = broadcast_in_dim v3
v5:i32[64] = local_id 0
v6:i32[64] = v4 + v5
v7:i32[64] = load x[v6]
v8 = constant i32[64]
v9:i32[64] = v7 + v8
store tile[v1] v9
group barrier (tile)
loop 4 times, v10 from 0:
  v11:i32 = v10 + 1
  v12:i32 = i32(v10)
  v13:i32[64] = v1 + v12
  v14:i32 = i32(64)
  v15:bool = v14 == 0
  v16:i32 = where v15 then 1 else v14
  v17:i32[64] = v13 % v16
  v18:bool[64] = v17 != 0
  v19:bool[64] = v17 < 0
  v20:bool = v16 < 0
  v21:bool[64] = v19 != v20
  v22:bool[64] = v21 & v18
  v23:i32[64] = v17 + v16
  v24:i32[64] = where v22 then v23 else v17
  v25:i32[64] = load tile[v24]
  store tile[v1] v25
  group barrier (tile)
  v10 = v11
v26:bool = n > 3
v27:i32 = i32(v26)
if v27 is 0:
if v27 is 1:
  store tile[v1] 0
loop while, v28 from 1:
  v29:bool = v28 < n
  while v29:
    v30:i32 = 2 * v28
    v28 = v30
v31:i32 = group_id 0
v32:i32 = v31 * 64
v33:i32[64] = broadcast_in_dim v32
v34:i32[64] = local_id 0
v35:i32[64] = v33 + v34
v36:i32[64] = load tile[v1]
v37:i32[64] = v36 + v28
store out[v35] v37
return out
"""


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_imported_of_an_example_is_valid(name):
    example = EXAMPLES[name]
    size = example.size
    verify(listing.of_kernel(xe.trace(example.kernel, example.nd_range(size))(*example.inputs(size), **example.static)))


# --- The verifier ---

ONE, TWO = Value((), np.dtype(np.int32)), Value((), np.dtype(np.int32))
MEMORY = Value((4,), np.dtype(np.int32), "m")


def add(result, *operands):
    return Op("add", operands, (result,), {})


def access(kind, operands, results, shape=(), rank=1, **attributes):
    return Op(f"xe_{kind}", operands, results, {"access": AccessAttributes(shape, rank, masked=False), **attributes})


def store(result, memory=MEMORY):
    return access("store", (memory, ONE, ONE), (result,))


def later():
    return dataclasses.replace(MEMORY)


def test_a_valid_program_is_let_pass():
    after = later()
    verify(Region((ONE, MEMORY), (store(after), add(TWO, ONE, ONE)), (after, TWO)))


@pytest.mark.whole
@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Region((), (add(TWO, ONE, ONE),), ()), "add # 7: a \\+ b uses a value before it is given"),
        (lambda: Region((ONE,), (), (TWO,)), "what a region gives uses a value before it is given"),
        (lambda: Region((ONE,), (add(ONE, ONE, ONE),), ()), "a value is given twice, by add # 7: a \\+ b again"),
        (lambda: Region((ONE, MEMORY), (store(later()), store(later())), ()), "updates a version of m .* before"),
        (lambda: Region((ONE,), (dataclasses.replace(add(TWO, ONE), name="frobnicate"),), ()), "frobnicate"),
        (
            lambda: Region((ONE,), (dataclasses.replace(add(TWO, ONE), regions=(Region((), (), ()),)),), ()),
            "has regions, which only loops, branches and calls have",
        ),
        (
            lambda: Region((ONE, MEMORY), (store(later()), branch(store(later()))), ()),
            "updates a version of m .* before",
        ),
        (
            lambda: Region((ONE, MEMORY), (branch(store(later())), store(later())), ()),
            "updates a version of m .* before",
        ),
        (
            lambda: Region((ONE, MEMORY), (loop(THREE, store(later())),), ()),
            "in each iteration a version of m from outside",
        ),
        (lambda: Region((ONE,), (dataclasses.replace(loop(THREE), results=()),), ()), "1 operands and 0 results"),
        (lambda: Region((ONE,), (loop(MEMORY),), ()), "scan hands on .* where .* are taken"),
        (lambda: Region((ONE, MEMORY), (add(TWO, MEMORY, ONE),), ()), "add # 7: a \\+ b takes a memory"),
        (lambda: loading(REAL, ONE), "has an index of 1 components for \\(\\)"),
        (lambda: loading(MEMORY, MEMORY), "takes no 1 memories"),
        (lambda: loading(MEMORY), "has 1 operands and 1 results"),
        (lambda: loading(MEMORY, *[ONE] * 3), "has 4 operands and 1 results"),
        (lambda: loading(MEMORY, REAL), "has an index that is no integer"),
        (lambda: loading(MEMORY, ONE, ONE, rank=2), "has an index of 2 components"),
        (lambda: loading(MEMORY, ONE, result=REAL), "has a value of float32 in a memory of int32"),
        (
            lambda: loading(MEMORY, ONE, result=dataclasses.replace(TWO, shape=(2,))),
            "gives \\(2,\\) where it has \\(\\)",
        ),
        (lambda: given(store(later()), access("load", (MEMORY, ONE), (TWO,))), "uses a version of m that was updated"),
        (lambda: Region((ONE, MEMORY), (store(later()),), (MEMORY,)), "a region gives a version of m that was updated"),
        (lambda: given(store(Value((5,), MEMORY.dtype, "m"))), "xe_store hands on .* where .* are taken"),
        (
            lambda: given(access("store", (MEMORY, ONE, REAL), (later(),))),
            "has a value of float32 in a memory of int32",
        ),
        (lambda: given(access("store", (MEMORY, ONE, ONE), ())), "has 3 operands and 0 results"),
        (lambda: given(barrier((MEMORY, MEMORY), (later(), later()))), "takes no 2 memories, each once"),
        (lambda: given(barrier((ONE,), (TWO,))), "takes no 1 memories"),
        (lambda: given(barrier((MEMORY,), ())), "gives 0 results of 1 memories"),
        (lambda: given(dataclasses.replace(loop(THREE), regions=())), "has 0 regions"),
        (lambda: given(dataclasses.replace(branch(), regions=())), "has 0 regions"),
        (lambda: given(dataclasses.replace(branch(), operands=(REAL,))), "does not choose"),
        (lambda: given(loop(THREE, carries=2)), "has 2 carries"),
        (lambda: given(elements(2)), "has elements of .* in \\(2,\\)"),
        (lambda: given(repeated(THREE)), "has a predicate that gives no bool"),
        (lambda: given(repeated(TRUE, store(later()))), "updates a memory in its predicate"),
        (lambda: swapped(), "carries another memory on than it was given"),
    ],
)
def test_an_invalid_program_is_refused(made, message):
    with pytest.raises((InvalidProgram, xe.KernelError), match=message):
        verify(made(), lambda op: "# 7: a + b" if op.name == "add" else "")


THREE = Value((), np.dtype(np.int32))
REAL = Value((), np.dtype(np.float32))
TRUE = Constant((), np.dtype(bool), array=np.asarray(True), is_literal=True)


def given(*ops):
    return Region((ONE, REAL, MEMORY), ops, ())


def loading(*operands, result=TWO, rank=1):
    return given(access("load", operands, (result,), rank=rank))


def barrier(operands, results):
    return Op("xe_barrier", operands, results, {"level": "work_group", "masked": False})


def call(*ops):
    return Op("jit", (ONE,), (TWO,), {"name": "f"}, (Region((THREE,), ops, (THREE,)),))


def test_a_program_may_be_called_from_several_places():
    once = call(Op("xe_allocate", (), (MEMORY,), {"name": "m"}), access("store", (MEMORY, THREE, THREE), (later(),)))
    verify(Region((ONE,), (once, dataclasses.replace(once, results=(later_number(),))), ()))


def test_what_is_called_sees_nothing():
    with pytest.raises(InvalidProgram, match="jit calls a program that captures values"):
        verify(Region((ONE,), (call(add(later_number(), ONE, THREE)),), ()))


def later_number():
    return dataclasses.replace(THREE)


def branch(*ops):
    return Op("cond", (ONE,), (), {}, (Region((), ops, ()), Region((), (), ())))


def test_each_branch_may_update_a_version():
    branches = tuple(Region((), (store(later()),), ()) for _ in range(2))
    verify(Region((ONE, MEMORY), (Op("cond", (ONE,), (), {}, branches),), ()))


def loop(carry, *ops, carries=1):
    body = Region((carry,), ops, (carry,))
    return Op("scan", (ONE,), (TWO,), {"length": 3, "reverse": False, "carries": carries}, (body,))


def elements(count):
    """A loop of three iterations that gives elements which are `count`."""
    whole = Value((count,), THREE.dtype)
    return Op("scan", (), (whole,), {"length": 3, "reverse": False, "carries": 0}, (Region((), (), (ONE,)),))


def repeated(tested, *ops):
    """A loop that goes on while that is true, with operations in its predicate."""
    return Op("while", (), (), {}, (Region((), ops, (tested,)), Region((), (), ())))


def swapped():
    """A loop that carries two memories, each on in the other's place."""
    first, second, *inner = (Value((4,), THREE.dtype) for _ in range(4))
    body = Region(tuple(inner), (), tuple(inner[::-1]))
    results = tuple(map(dataclasses.replace, inner))
    op = Op("scan", (first, second), results, {"length": 3, "reverse": False, "carries": 2}, (body,))
    return Region((first, second), (op,), ())
