"""Programs of `accesses` as kernels: source text in a file of its own."""

import importlib.util
import pathlib

import numpy as np
from accesses import Access, Branch, Loop, Program, Statement

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
    memories = [a.memory for a in program.accesses]
    remote = [a.memory for a in program.accesses if a.space == "global"]
    lines = [_HEAD.format(size=program.sub_group_size, arguments=", ".join([*remote, "out"]))]
    for d in range(len(program.local_size)):
        lines.append(f"    lid{d}, gid{d}, group{d} = wg.local_id({d}), wg.global_id({d}), wg.group_id({d})")
    lines += [
        f"    {a.memory} = wg.{a.space}({a.shape}, jnp.{a.dtype})" for a in program.accesses if a.space != "global"
    ]
    every = ", ".join(memories)
    lines.append(f"    s = ({every},)")
    lines += _rendered(program.body, "    ", every)
    lines += [f"    ({every},) = s", f"    return {', '.join([*remote, 'out'])}"]
    return "\n".join(lines) + "\n"


def _rendered(body: tuple[Statement, ...], margin: str, every: str) -> list[str]:
    lines = []
    for statement in body:
        render = {Access: _access, Loop: _loop, Branch: _branch}[type(statement)]
        lines += render(statement, margin, every)
    return lines


def _access(access: Access, margin: str, every: str) -> list[str]:
    index = ", ".join(component.kernel for component in access.index)
    where = "" if access.mask is None else f"where={access.mask.kernel}"
    m, also = access.memory, f", {where}" if where else ""
    lines = [f"({every},) = s"]
    if access.private > 1:
        lines.append(f"own = jnp.arange({access.private}, dtype=jnp.int32)[(None,) * (wg.local_id().ndim)]")
    if access.op == "load":
        lines.append(f"{m}.load(({index},){also})")
    elif access.op == "store":
        lines.append(f"{m} = {m}.at[{index}].set(1{also})")
    elif access.op == "compare_exchange":
        lines.append(f"_, {m} = {m}.atomic[{index}].compare_exchange(0, 1{also})")
    elif access.op in ("exchange", "fetch_add"):
        lines.append(f"_, {m} = {m}.atomic[{index}].{access.op}(1{also})")
    else:
        lines.append(f"{m} = {m}.atomic[{index}].{access.op}(1{also})")
    return [margin + line for line in (*lines, f"s = ({every},)")]


def _loop(loop: Loop, margin: str, every: str) -> list[str]:
    low, high, counter = loop.low.kernel, loop.high.kernel, loop.counter
    inner = margin + "    "
    if loop.how == "unrolled":
        return [f"{margin}for {counter} in range({low}, {high}):", *_rendered(loop.body, inner, every)]
    name = f"body_{counter}"
    if loop.how in ("fori", "items"):
        of = "lax" if loop.how == "fori" else "wg"
        head = [f"{margin}def {name}({counter}, s):", *_rendered(loop.body, inner, every), f"{inner}return s"]
        return [*head, f"{margin}s = {of}.fori_loop({low}, {high}, {name}, s)"]
    following = f"{counter} + 1" if loop.how == "while" else f"{counter} * 2"
    return [
        f"{margin}def {name}(c):",
        f"{inner}{counter}, s = c",
        *_rendered(loop.body, inner, every),
        f"{inner}return {following}, s",
        f"{margin}_, s = lax.while_loop(lambda c: c[0] < {high}, {name}, (jnp.int32({low}), s))",
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
    path = folder / f"accesses_{program.seed}.py"
    path.write_text(text(program))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: xe.Kernel = module.program
    return found


def arguments(program: Program) -> list[np.ndarray]:
    """What it is launched with: its global memories, and one that nobody accesses."""
    remote = [np.zeros(a.shape, a.dtype) for a in program.accesses if a.space == "global"]
    return [*remote, np.zeros(1, np.float32)]


def nd_range(program: Program) -> xe.NDRange:
    return xe.NDRange(program.global_size, None if program.ragged else program.local_size)
