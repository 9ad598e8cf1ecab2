"""Programs of `accesses` as kernels: source text in a file of its own, in Python or OpenCL C."""

import importlib.util
import math
import pathlib

import numpy as np
import opencl_wordings
from accesses import LAST, Access, Barrier, Branch, Loop, Program, Statement, datum

import xeemu as xe

_HEAD = """import jax.numpy as jnp
import numpy as np
from jax import lax

import xeemu as xe


@xe.kernel(sub_group_size={size})
def program(wg, {arguments}):
    local_linear, global_linear, group_linear = wg.local_linear_id(), wg.global_linear_id(), wg.group_linear_id()"""


def text(program: Program) -> str:
    """The module with its kernel, whose arguments are the global memories."""
    if program.is_opencl:
        return opencl_wordings.text(program)
    memories = list(program.memories)
    remote = [name for name, a in program.memories.items() if a.space == "global"]
    lines = [_HEAD.format(size=program.sub_group_size, arguments=", ".join([*remote, "out"]))]
    for d in range(len(program.local_size)):
        lines.append(f"    lid{d}, gid{d}, group{d} = wg.local_id({d}), wg.global_id({d}), wg.group_id({d})")
    lines += [
        f"    {name} = wg.{a.space}({a.shape}, jnp.{a.dtype})"
        for name, a in program.memories.items()
        if a.space != "global"
    ]
    every = ", ".join(["total", *memories])
    lines += ["    total = jnp.zeros(wg.local_id().shape, jnp.float32)", f"    s = ({every},)"]
    lines += _rendered(program.body, "    ", every)
    lines += [f"    ({every},) = s", "    out = out.at[global_linear].set(total)"]
    lines.append(f"    return {', '.join([*remote, 'out'])}")
    return "\n".join(lines) + "\n"


def _rendered(body: tuple[Statement, ...], margin: str, every: str) -> list[str]:
    lines = []
    for statement in body:
        render = {Access: _access, Loop: _loop, Branch: _branch, Barrier: _barrier}[type(statement)]
        lines += render(statement, margin, every)
    return lines


def _barrier(barrier: Barrier, margin: str, every: str) -> list[str]:
    lines = (f"({every},) = s", f"{barrier.memory} = wg.barrier({barrier.memory})", f"s = ({every},)")
    return [margin + line for line in lines]


def _access(access: Access, margin: str, every: str) -> list[str]:
    index = ", ".join(component.kernel for component in access.index)
    where = "" if access.mask is None else f"where={access.mask.kernel}"
    m, also = access.memory, f", {where}" if where else ""
    lines = [f"({every},) = s"]
    if access.private > 1:
        lines.append(f"own = jnp.arange({access.private}, dtype=jnp.int32)[(None,) * (wg.local_id().ndim)]")
    if access.op == "load":
        private = ".sum(-1)" if access.private > 1 else ""
        loaded = f"{m}.load(({index},){also})"
        if access.value:
            loaded = f"({access.value} := {loaded})"
        lines.append(
            f"{access.result} = {loaded}" if access.result else f"total = total + {loaded}.astype(jnp.float32){private}"
        )
    elif access.op == "store":
        lines.append(f"{m} = {m}.at[{index}].set({access.value}{also})")
    elif access.op == "compare_exchange":
        lines.append(f"_, {m} = {m}.atomic[{index}].compare_exchange(0, 1{also})")
    elif access.op in ("exchange", "fetch_add"):
        lines.append(f"_, {m} = {m}.atomic[{index}].{access.op}(1{also})")
    else:
        lines.append(f"{m} = {m}.atomic[{index}].{access.op}(1{also})")
    lines[-1] += f"  # {access.label}"
    return [margin + line for line in (*lines, f"s = ({every},)")]


def _loop(loop: Loop, margin: str, every: str) -> list[str]:
    low, high, counter = loop.low.kernel, loop.high.kernel, loop.counter
    inner = margin + "    "
    if loop.how == "until":
        return _until(loop, margin, every)
    before = [] if loop.bound is None else _access(loop.bound, margin, every)
    if loop.how == "unrolled":
        return [f"{margin}for {counter} in range({low}, {high}):", *_rendered(loop.body, inner, every)]
    name = f"body_{counter}"
    if loop.how in ("fori", "items"):
        of = "lax" if loop.how == "fori" else "wg"
        head = [f"{margin}def {name}({counter}, s):", *_rendered(loop.body, inner, every), f"{inner}return s"]
        return [*before, *head, f"{margin}s = {of}.fori_loop({low}, {high}, {name}, s)"]
    following = f"{counter} + 1" if loop.how == "while" else f"{counter} * 2"
    return [
        *before,
        f"{margin}def {name}(c):",
        f"{inner}{counter}, s = c",
        *_rendered(loop.body, inner, every),
        f"{inner}return {following}, s",
        f"{margin}_, s = lax.while_loop(lambda c: c[0] < {high}, {name}, (jnp.int32({low}), s))",
    ]


def _until(loop: Loop, margin: str, every: str) -> list[str]:
    assert loop.bound is not None
    counter, inner = loop.counter, margin + "    "
    unpacked = f"{inner}{counter}, s = c"
    return [
        f"{margin}def asked_{counter}(c):",
        unpacked,
        *_access(loop.bound, inner, every),
        f"{inner}return {loop.bound.result} != {LAST}",
        f"{margin}def body_{counter}(c):",
        unpacked,
        *_rendered(loop.body, inner, every),
        f"{inner}return {counter} + 1, s",
        f"{margin}_, s = lax.while_loop(asked_{counter}, body_{counter}, (jnp.int32({loop.low.kernel}), s))",
    ]


def _branch(branch: Branch, margin: str, every: str) -> list[str]:
    name, inner = f"way_{len(margin)}", margin + "    "
    lines = []
    for side, body in (("then", branch.then), ("otherwise", branch.otherwise)):
        lines += [f"{margin}def {name}_{side}(s):", *_rendered(body, inner, every), f"{inner}return s"]
    of = "wg" if branch.items else "lax"
    return [*lines, f"{margin}s = {of}.cond({branch.condition.kernel}, {name}_then, {name}_otherwise, s)"]


def kernel(program: Program, folder: pathlib.Path) -> xe.Kernel:
    """The kernel of a program, from a file of the folder."""
    path = folder / f"accesses_{program.seed}.{'cl' if program.is_opencl else 'py'}"
    path.write_text(text(program))
    if program.is_opencl:
        return xe.load(path)["program"]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: xe.Kernel = module.program
    return found


def arguments(program: Program) -> list[np.ndarray]:
    """What it is launched with: its global memories, and one for the sum of what each work-item has loaded."""
    bounds = {a.memory for a in program.accesses if a.result}
    remote = [
        datum(np.arange(a.shape[0])).astype(a.dtype) if name in bounds else np.zeros(a.shape, a.dtype)
        for name, a in program.memories.items()
        if a.space == "global"
    ]
    return [*remote, np.zeros(math.prod(program.global_size), np.float32)]


def nd_range(program: Program) -> xe.NDRange:
    return xe.NDRange(program.global_size, None if program.ragged else program.local_size)
