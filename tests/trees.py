"""Trees of the front ends as short text, in which every conversion shows."""

from xeemu.frontends import tree, types

SUFFIXES = {types.INT: "", types.UINT: "u", types.LONG: "l", types.ULONG: "ul", types.FLOAT: "f", types.DOUBLE: ""}


def expression(e):
    match e:
        case tree.Constant(of, _, value):
            return f"{value}{SUFFIXES[of]}" if of in SUFFIXES else f"{of}:{value}"
        case tree.Text():
            return repr(e.value)
        case tree.Name():
            return e.variable.name
        case tree.Unary():
            return f"{e.op}{expression(e.operand)}"
        case tree.Step():
            return f"{e.op}{expression(e.operand)}" if e.prefix else f"{expression(e.operand)}{e.op}"
        case tree.Binary():
            return f"({expression(e.left)} {e.op} {expression(e.right)})"
        case tree.Assignment():
            return f"{expression(e.target)} {e.op}= {expression(e.value)}"
        case tree.Choice():
            return f"({expression(e.condition)} ? {expression(e.then)} : {expression(e.otherwise)})"
        case tree.Subscript():
            return f"{expression(e.base)}[{expression(e.index)}]"
        case tree.Member():
            return f"{expression(e.base)}{'->' if e.arrow else '.'}{e.name}"
        case tree.Swizzle():
            return f"{expression(e.base)}.s{''.join(f'{c:x}' for c in e.components)}"
        case tree.Cast():
            return f"({e.type}){expression(e.operand)}"
        case tree.Initializer():
            items = ", ".join(map(expression, e.items))
            return f"{e.type}{{{f'.{e.member} = ' if e.member else ''}{items}}}"
        case tree.Call():
            own = "" if e.function is None else "own "
            return f"{own}{e.name}({', '.join(map(expression, e.arguments))})"
        case tree.Braced():
            return f"({statement(e.block)})"
    raise AssertionError(e)


def variable(v):
    value = v.initializer
    space = "" if v.space == "private" else f"{v.space} "
    return f"{space}{v.type} {v.name}" + ("" if value is None else f" = {expression(value)}")


def statement(s):
    match s:
        case tree.Block():
            return "{" + " ".join(map(statement, s.statements)) + "}"
        case tree.Declaration():
            return f"{', '.join(map(variable, s.variables))};"
        case tree.Evaluate():
            return f"{expression(s.expression)};"
        case tree.If():
            otherwise = "" if s.otherwise is None else f" else {statement(s.otherwise)}"
            return f"if ({expression(s.condition)}) {statement(s.then)}{otherwise}"
        case tree.Loop():
            return loop(s)
        case tree.Switch():
            return f"switch ({expression(s.value)}) {{{' '.join(map(case, s.cases))}}}"
        case tree.Break():
            return "break;"
        case tree.Continue():
            return "continue;"
        case tree.Return():
            return "return;" if s.value is None else f"return {expression(s.value)};"
    raise AssertionError(s)


def loop(s):
    unroll = "" if s.unroll is None else f"unroll {s.unroll} "
    condition = "" if s.condition is None else expression(s.condition)
    if s.after:
        return f"{unroll}do {statement(s.body)} while ({condition});"
    first = "" if s.first is None else statement(s.first)
    step = "" if s.step is None else expression(s.step)
    return f"{unroll}for ({first.rstrip(';')}; {condition}; {step}) {statement(s.body)}"


def case(c):
    values = [f"{low}" if low == high else f"{low}...{high}" for low, high in c.values]
    labels = " ".join([*(f"case {v}:" for v in values), *(["default:"] if c.default else [])])
    return " ".join([labels, *map(statement, c.statements)])
