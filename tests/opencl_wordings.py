"""Programs of `accesses` as kernels of OpenCL C."""

import ast

from accesses import LAST, Access, Barrier, Branch, Loop, Program, Statement

_TYPES = {"float32": "float", "int32": "int", "uint32": "uint", "uint8": "uchar", "int16": "short", "int64": "long"}
_ATOMICS = {"fetch_add": "add", "exchange": "xchg", "compare_exchange": "cmpxchg"}
_FUNCTIONS = {"minimum": "min", "maximum": "max", "abs": "(int)abs"}
_SIGNS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Mod: "%", ast.FloorDiv: "/",
}  # fmt: skip
_HEAD = """int modulo(int a, int b) {{ int r = a % b; return r < 0 ? r + b : r; }}
int quotient(int a, int b) {{ return (a - modulo(a, b)) / b; }}

__attribute__((intel_reqd_sub_group_size({size})))
kernel void program({parameters})
{{
    float total = 0;"""


def text(program: Program) -> str:
    """The file with the kernel, whose arguments are the global memories."""
    stored = {a.memory for a in program.accesses if a.op != "load"}
    remote = [
        f"global {'' if name in stored else 'const '}{_TYPES[a.dtype]} *restrict {name}"
        for name, a in program.memories.items()
        if a.space == "global"
    ]
    lines = [_HEAD.format(size=program.sub_group_size, parameters=", ".join([*remote, "global float *restrict out"]))]
    lines += [f"    {line}" for line in _ids(program)]
    for name, a in program.memories.items():
        if a.space != "global":
            extents = "".join(f"[{n}]" for n in a.shape)
            lines.append(f"    {a.space} {_TYPES[a.dtype]} {name}{extents};")
    lines += [*_rendered(program.body, "    "), "    out[global_linear] = total;", "}"]
    return "\n".join(lines) + "\n"


def _ids(program: Program) -> list[str]:
    """Declarations of what plain texts name; OpenCL's dimension 0 is the last one."""
    found, group, item = [], "0", "0"
    for d, (groups, size) in enumerate(zip(program.groups, program.local_size, strict=True)):
        of = len(program.groups) - 1 - d
        found += [f"int lid{d} = get_local_id({of}), gid{d} = get_global_id({of}), group{d} = get_group_id({of});"]
        group, item = f"({group} * {groups} + group{d})", f"({item} * {size} + lid{d})"
    whole = "0"
    for d, size in enumerate(program.global_size):
        whole = f"({whole} * {size} + gid{d})"
    return [*found, f"int local_linear = {item}, global_linear = {whole}, group_linear = {group};"]


def _rendered(body: tuple[Statement, ...], margin: str) -> list[str]:
    lines = []
    for statement in body:
        render = {Access: _access, Loop: _loop, Branch: _branch, Barrier: _barrier}[type(statement)]
        lines += [margin + line for line in render(statement)]
    return lines


def _barrier(barrier: Barrier) -> list[str]:
    return ["barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"]


def _access(access: Access) -> list[str]:
    of, at = _TYPES[access.dtype], [in_c(value.reworded or value.plain) for value in access.index]
    if access.private > 1:
        of = f"{of}{access.private}"
    place = access.memory + "".join(f"[{component}]" for component in at)
    if access.space == "global" and len(at) > 1:
        flat = at[0]
        for size, component in zip(access.shape[1:], at[1:], strict=True):
            flat = f"({flat} * {size} + {component})"
        place = f"{access.memory}[{flat}]"
    if access.private > 1 or access.volatile:
        const = "const " if access.op == "load" else ""
        pointer = access.memory if access.private > 1 else f"&{place}"
        cast = f"({'volatile ' if access.volatile else ''}{access.space} {const}{of} *)({pointer})"
        place = f"({cast})[{at[-1] if access.private > 1 else 0}]"
    where = "" if access.mask is None else f"if ({in_c(access.mask.plain)}) "
    declared = [f"{of} {access.value} = ({of})(0);"] if access.op == "load" and access.value else []
    return [*declared, f"{where}{_operation(access, place, of)}  // {access.label}"]


def _operation(access: Access, place: str, of: str) -> str:
    if access.op == "load" and access.result:
        return f"int {access.result} = {place};"
    if access.op == "load":
        parts = (f".s{k}" for k in range(access.private)) if access.private > 1 else ("",)
        name, declared = (access.value, access.value) if access.value else ("loaded", f"{of} loaded")
        return f"{{ {declared} = {place}; total += {' + '.join(f'(float){name}{part}' for part in parts)}; }}"
    if access.op == "store":
        return f"{place} = ({of})({access.value});"
    values = "0, 1" if access.op == "compare_exchange" else "1"
    return f"atomic_{_ATOMICS.get(access.op, access.op)}(&{place}, {values});"


def _loop(loop: Loop) -> list[str]:
    low, counter = in_c(loop.low.plain), loop.counter
    high = loop.bound.result if loop.bound is not None else in_c(loop.high.plain)
    before = [] if loop.bound is None or loop.how == "until" else _access(loop.bound)
    step = f"{counter} *= 2" if loop.how == "doubling" else f"{counter}++"
    inner = _rendered(loop.body, "    ")
    if loop.how == "until":
        assert loop.bound is not None
        asked = f"{loop.bound.memory}[{in_c(loop.bound.index[0].plain)}]"
        first = f"while ({asked} != {LAST}) {{  // {loop.bound.label}"
        return [f"int {counter} = {low};", first, *inner, f"    {step};", "}"]
    if loop.how == "while":
        return [*before, f"int {counter} = {low};", f"while ({counter} < {high}) {{", *inner, f"    {step};", "}"]
    before += ["#pragma unroll"] if loop.how == "unrolled" else []
    return [*before, f"for (int {counter} = {low}; {counter} < {high}; {step}) {{", *inner, "}"]


def _branch(branch: Branch) -> list[str]:
    then, otherwise = (_rendered(body, "    ") for body in (branch.then, branch.otherwise))
    return [f"if ({in_c(branch.condition.plain)}) {{", *then, "} else {", *otherwise, "}"]


def in_c(plain: str) -> str:
    """An expression for NumPy in C."""
    return _in_c(ast.parse(plain, mode="eval").body)


def _in_c(node: ast.expr) -> str:
    match node:
        case ast.BinOp(left=left, op=ast.Mod() | ast.FloorDiv() as op, right=right) if _may_be_negative(left):
            name = "modulo" if isinstance(op, ast.Mod) else "quotient"
            return f"{name}({_in_c(left)}, {_in_c(right)})"
        case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
            return f"({_in_c(left)} {_SIGNS[type(op)]} {_in_c(right)})"
        case ast.Subscript(value=ast.Call(args=[ast.List(elts=numbers)]), slice=index):
            return f"((int[]){{{', '.join(map(_in_c, numbers))}}})[{_in_c(index)}]"
        case ast.Call(func=ast.Attribute(attr="where"), args=[condition, then, otherwise]):
            return f"({_in_c(condition)} ? {_in_c(then)} : {_in_c(otherwise)})"
        case ast.Call(func=ast.Attribute(attr=name), args=arguments):
            return f"{_FUNCTIONS[name]}({', '.join(map(_in_c, arguments))})"
    return ast.unparse(node)


def _may_be_negative(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Sub | ast.USub) for part in ast.walk(node))
