"""Expressions of Python that need the value of an array, and what a kernel writes in their place."""

import ast
import builtins
import functools
import itertools
import linecache
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

import jax.numpy as jnp

_CONVERSIONS = {"float": "jnp.float32", "int": "jnp.int32", "bool": "jnp.bool_"}
_CHOICES = {"max": "jnp.maximum", "min": "jnp.minimum"}


def instead(raised: TracebackType) -> str | None:
    """What to write instead of the expression at which something was raised; None if that is not known.

    Args:
      raised: the entry of the user's line in the traceback.
    """
    told = (_of_node(node, raised.tb_frame) for node in _around(raised))
    return next((text for text in told if text), None)


def variable_of_call(raised: TracebackType) -> str | None:
    """The variable of a call that was refused, as `x` of `x.at[i].set(...)`; None if there is none."""
    function = next((node.func for node in _around(raised) if isinstance(node, ast.Call)), None)
    while isinstance(function, ast.Attribute | ast.Subscript):
        function = function.value
    return function.id if isinstance(function, ast.Name) else None


def function_of_call(raised: TracebackType) -> str | None:
    """The function of a call that was refused, as `jnp.dot` of `jnp.dot(a, b)`; None if it is no name."""
    function = next((node.func for node in _around(raised) if isinstance(node, ast.Call)), None)
    owner = function
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    return ast.unparse(function) if function is not None and isinstance(owner, ast.Name) else None


def _around(raised: TracebackType) -> Iterator[ast.expr]:
    """The call or element that raised, and what is around it of which Python takes the truth, the innermost first."""
    code = raised.tb_frame.f_code
    positions = itertools.islice(code.co_positions(), raised.tb_lasti // 2, None)
    first, last, column, end_column = next(positions, (None,) * 4)
    start, end = (first or 0, column or 0), (last or 0, end_column or 0)
    found = []
    for node in _expressions("".join(linecache.getlines(code.co_filename))):
        own, until = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
        if (own, until) == (start, end) or (own <= start and end <= until and _takes_truth(node)):
            found.append((own, (-until[0], -until[1]), node))
    return (node for _, _, node in sorted(found, key=lambda one: one[:2], reverse=True))


@functools.lru_cache(maxsize=16)
def _expressions(text: str) -> tuple[ast.expr, ...]:
    """The calls and elements of a file, and what takes the truth of its operands; none if it is no Python."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return ()
    expressions = (node for node in nodes if isinstance(node, ast.expr))
    return tuple(node for node in expressions if isinstance(node, ast.Call | ast.Subscript) or _takes_truth(node))


def _takes_truth(node: ast.expr) -> bool:
    chained = isinstance(node, ast.Compare) and len(node.ops) > 1
    return chained or isinstance(node, ast.BoolOp) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def _of_node(node: ast.expr, frame: FrameType) -> str | None:
    if isinstance(node, ast.Call):
        return _of_call(node, frame)
    return _of_element(node, frame) if isinstance(node, ast.Subscript) else _of_truth(node)


def _of_element(node: ast.Subscript, frame: FrameType) -> str | None:
    """What is written for an element of a list or tuple, of which the number is an array."""
    name, index = ast.unparse(node.value), ast.unparse(node.slice)
    held = {**frame.f_globals, **frame.f_locals}.get(name)
    if not isinstance(held, list | tuple):
        return None
    return (
        f"{name} is a {type(held).__name__} of Python, of which an element is chosen as the kernel is traced: pass "
        f"np.asarray({name}) to the launch, or write jnp.asarray({name})[{index}]"
    )


def _of_truth(node: ast.expr) -> str:
    """What is written for `and`, `or`, `not`, and comparisons in a chain."""
    if isinstance(node, ast.BoolOp):
        sign = " & " if isinstance(node.op, ast.And) else " | "
        return f"write {sign.join(f'({ast.unparse(value)})' for value in node.values)} for {ast.unparse(node)}"
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        pairs = zip(operands[:-1], node.ops, operands[1:], strict=True)
        parts = (ast.unparse(ast.Compare(left, [op], [right])) for left, op, right in pairs)
        return f"write {' & '.join(f'({part})' for part in parts)} for {ast.unparse(node)}"
    assert isinstance(node, ast.UnaryOp)
    return f"write ~({ast.unparse(node.operand)}) for {ast.unparse(node)}, or compare with 0 what is no bool"


def _of_call(node: ast.Call, frame: FrameType) -> str | None:
    """What is written for a call of Python's or NumPy's functions of numbers."""
    if not node.args:
        return None
    arguments = ", ".join(map(ast.unparse, node.args))
    called, owner, name = _called(node.func, frame)
    if owner == "builtins" and name in _CONVERSIONS:
        whole = f"({arguments})" if isinstance(node.args[0], ast.BinOp | ast.UnaryOp) else arguments
        return f"values stay arrays: write {arguments}, or {whole}.astype({_CONVERSIONS[name]})"
    if owner == "builtins" and name in _CHOICES and len(node.args) == 2:
        return f"write {_CHOICES[name]}({arguments}) for {ast.unparse(node)}"
    if owner in ("math", "numpy") and callable(called) and hasattr(jnp, name):
        return f"{ast.unparse(node.func)} is for numbers that are known now: write jnp.{name}({arguments})"
    return None


def _called(function: ast.expr, frame: FrameType) -> tuple[Any, str, str]:
    """A function that is called, the module that it is of, and its name; empty if they are not known."""
    known = {**vars(builtins), **frame.f_globals, **frame.f_locals}
    if isinstance(function, ast.Name):
        called = known.get(function.id)
        return called, getattr(called, "__module__", None) or "", getattr(called, "__name__", "")
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        module = known.get(function.value.id)
        return getattr(module, function.attr, None), getattr(module, "__name__", ""), function.attr
    return None, "", ""
