"""Diagnosis: what JAX refuses in a kernel, told in the kernel's terms, with what to write instead.

JAX tells faults by sentences alone, so that they are recognised by their words; one that is not known stays as it is.
"""

import re
from collections.abc import Callable

Found = re.Match[str]

# What JAX puts behind the path of a memory, of whose parts it knows no names.
_CONTENTS = "[<flat index 0>]"


def of_error(error: Exception, local_range: tuple[int, ...], line: str, scalars: tuple[str, ...] = ()) -> str | None:
    """What the sentence of an exception of JAX means; None if it is not known.

    Args:
      error: what JAX raised.
      local_range: the work-group's shape.
      line: the text of the user's line.
      scalars: the parameters on that line which are scalars.
    """
    text = str(error)
    for pattern, told in _SENTENCES:
        if found := pattern.search(text):
            more = len(pattern.findall(text)) - 1
            others = f" ({more} more like this)" if more else ""
            return told(found, _Place(local_range, line, scalars)) + others
    return None


class _Place:
    """Where a sentence was said: in a work-group of a shape, on a line of the user."""

    def __init__(self, local_range: tuple[int, ...], line: str, scalars: tuple[str, ...]):
        self.local_range, self.line, self.scalars = local_range, line, scalars

    def scalar(self, *ends: str) -> str | None:
        """The scalar parameter that the line has before one of some texts, such as `[`."""
        texts = "|".join(map(re.escape, ends))
        return next((name for name in self.scalars if re.search(rf"(?<![\w.]){name}\s*(?:{texts})", self.line)), None)

    def whose(self, shape: tuple[int, ...]) -> str:
        """Which work-items an array of some shape is for."""
        return "a value for each work-item" if shape[: len(self.local_range)] == self.local_range else "an array"


# --- Types ---


def _shape(sizes: str) -> tuple[int, ...]:
    return tuple(int(n) for n in sizes.split(",") if n)


def _carried(path: str) -> str:
    """What a message calls a part of a loop's carry; `fori_loop` puts its counter and bounds before the user's."""
    name = re.sub(r"^loop_carry(\[[12]\])?", "carry", path)
    whole = name.removesuffix(_CONTENTS)
    return f"the memory {whole}" if whole != name else whole


def _carry_of_other_type(found: Found, place: _Place) -> str:
    name, before, before_sizes, after, after_sizes = found.groups()
    start, end = _shape(before_sizes), _shape(after_sizes)
    what = f"a loop takes {_carried(name)} in as {before}{list(start)} and gives {after}{list(end)}; "
    if _carried(name).startswith("the memory"):
        return what + "a memory keeps its place: return the memories in the order of the carry"
    if start != end:
        wider = start if len(start) >= len(end) else end
        which = "what the body gives" if wider is start else "what the loop starts with"
        return what + f"what is carried keeps its shape: broadcast {which}, jnp.broadcast_to(value, {wider})"
    return what + (
        f"what is carried keeps its type: start with value.astype(jnp.{after}), or let the body give "
        f"value.astype(jnp.{before}){_width(before, after)}"
    )


def _width(first: str, second: str) -> str:
    """Why a value may be wider than was meant."""
    widths = {re.sub(r"^[a-z]+", "", first), re.sub(r"^[a-z]+", "", second)}
    same = first.rstrip("0123456789") == second.rstrip("0123456789")
    if not same or widths != {"32", "64"}:
        return ""
    narrow = min(first, second, key=lambda name: int(re.sub(r"^[a-z]+", "", name)))
    return (
        "; a Python number, jnp.arange and a sum are of 64 bits where a memory of the kernel is: write "
        f"jnp.{narrow}(...) for the number"
    )


def _branches_of_other_type(found: Found, place: _Place) -> str:
    first, path, type1, sizes1, second, type2, sizes2 = found.groups()
    one, other = (f"{t}{list(_shape(s))}" for t, s in ((type1, sizes1), (type2, sizes2)))
    part = f" for part {path.removesuffix(_CONTENTS)} of its result" if path and path != _CONTENTS else ""
    what = f"{_branch(first)} gives {one} and {_branch(second)} {other}{part}; "
    if path and path.endswith(_CONTENTS):
        return what + "a memory keeps its place: return the same memories in the same order from every branch"
    if _shape(sizes1) != _shape(sizes2):
        wider = max(_shape(sizes1), _shape(sizes2), key=len)
        return what + f"branches give one shape: broadcast the other, jnp.broadcast_to(value, {wider})"
    return what + f"branches give one type: convert one of them, value.astype(jnp.{type2}){_width(type1, type2)}"


def _branch(name: str) -> str:
    known = {"true_fun": "lax.cond with a true predicate", "false_fun": "with a false one"}
    return known.get(name) or "branch " + re.sub(r"^branch ?", "", name)


# --- Structures ---


def _thing(text: str) -> str:
    """What a message calls what JAX describes by its class."""
    if memory := re.search(r"MemoryType\(space='(\w+)', local_range=\(.*?\), name='(.*?)'\)", text):
        return f"{memory[1]} memory {memory[2]}"
    if sized := re.match(r"(tuple|list|dict) of length (\d+)", text):
        return f"a {sized[1]} of {sized[2]}"
    name = text.split("'")[1].split(".")[-1] if "'" in text else text
    known = {"Memory": "a memory", "NoneType": "None", "ShapedArray": "an array", "pytree leaf": "an array"}
    return known.get(name, f"a {name}")


def _advice(before: str, after: str) -> str:
    if "None" in (before, after):
        return "is a return missing?"
    if "memory" in before and after == "an array":
        return "give the memory itself, as .at[i].set(x) gives it"
    if "memory" in before and "memory" in after:
        return "a memory keeps its place"
    return "nothing may be added to it or left out"


def _carry_of_other_structure(found: Found, place: _Place) -> str:
    name, before, after = _carried(found[1]), _thing(found[2]), _thing(found[3])
    return (
        f"the body of a loop gives {after} where {name} holds {before}; it returns the carry, each part in its place: "
        f"{_advice(before, after)}"
    )


def _branches_of_other_structure(found: Found, place: _Place) -> str:
    first, path, one, second, other = found.groups()
    before, after = _thing(one), _thing(other)
    part = f" for part {path} of its result" if path else ""
    return (
        f"{_branch(first)} gives {before} and {_branch(second)} {after}{part}; every branch returns the same parts in "
        f"the same order: {_advice(before, after)}"
    )


def _no_pair(found: Found, place: _Place) -> str:
    return "the body of lax.scan gives no pair; it returns (carry, stacked): write return carry, None to stack nothing"


# --- Predicates ---


def _predicate_of_loop(found: Found, place: _Place) -> str:
    dtype, shape = found[1], _shape(found[2])
    what = f"the predicate of a loop is {dtype}{list(shape)}"
    if not shape:
        return f"{what}; a predicate is a bool: write a comparison, such as x != 0"
    if "fori_loop" in place.line:
        return (
            f"the bounds of lax.fori_loop are {place.whose(shape)}, of shape {shape}; it has one number of turns "
            "for the work-group: write wg.fori_loop(low, high, body, init), of which each work-item has its own"
        )
    return (
        f"{what}, {place.whose(shape)}; lax.while_loop has one predicate for the work-group: write "
        "wg.while_loop(cond, body, init), which each work-item leaves when it is done"
    )


def _no_predicate(found: Found, place: _Place) -> str:
    return "the predicate of a loop gives no bool but something of several parts; write a comparison of loaded values"


def _predicate_of_branch(found: Found, place: _Place) -> str:
    shape = _shape(found[2])
    if "memory" in found[1]:
        return f"the predicate of lax.cond is {found[1].split(':')[0]}; load what it tests, such as m[0] != 0"
    return (
        f"the predicate of lax.cond is {place.whose(shape)}, of shape {shape}; lax.cond takes one for the work-group: "
        "write wg.cond(predicate, then, otherwise, *operands), of which each work-item takes its "
        "side; or choose values "
        "with jnp.where(predicate, a, b) and mask memory operations with where=predicate"
    )


def _number_of_branch(found: Found, place: _Place) -> str:
    shape = _shape(found[1])
    return (
        f"the number of lax.switch is {place.whose(shape)}, of shape {shape}; it takes one for the work-group: write "
        "wg.cond(number == k, then, otherwise, *operands) for each number, or choose with jnp.where "
        "or jnp.select and mask "
        "the memory operations with where=number == k"
    )


def _number_of_other_type(found: Found, place: _Place) -> str:
    return f"the number of lax.switch is {found[1]}; it is an integer: write .astype(jnp.int32)"


def _bounds_of_other_types(found: Found, place: _Place) -> str:
    return (
        f"the bounds of lax.fori_loop are {found[1]} and {found[2]}; they are integers of one type: write "
        f".astype(jnp.{'int32' if 'float' in found[0] else found[2]})"
    )


# --- Shapes ---


def _no_broadcast(found: Found, place: _Place) -> str:
    shapes = [_shape(sizes) for sizes in re.findall(r"\(([\d, ]*)\)", found["shapes"])]
    listed = " and ".join(map(str, shapes))
    operation = f"{found['operation']} has" if found.groupdict().get("operation") else "an operation has"
    what = f"{operation} operands of shapes {listed}, which do not go together"
    rank = len(place.local_range)
    axes = "the first axis is" if rank == 1 else f"the first {rank} axes are"
    what += f"; {axes} the work-items of the group, {place.local_range}, and axes of their own come behind"
    fitting = _fitting(shapes, place.local_range)
    if fitting is None:
        return f"{what}: give operands whose axes of their own are equal, or 1"
    written = [
        f"x{_indexed(shape, fit, rank)} of shape {fit} for x of shape {shape}"
        for shape, fit in zip(shapes, fitting, strict=True)
        if shape != fit
    ]
    return f"{what}: write {' and '.join(written)}"


def _fitting(shapes: list[tuple[int, ...]], local_range: tuple[int, ...]) -> list[tuple[int, ...]] | None:
    """The shapes with axes of 1 by which they go together, own axes first at the right, then at the left; or None."""
    rank = len(local_range)
    each = [shape[:rank] == local_range for shape in shapes]
    own = [shape[rank:] if is_each else shape for shape, is_each in zip(shapes, each, strict=True)]
    most = max(map(len, own))
    for left in (False, True):
        ones = [(1,) * (most - len(axes)) for axes in own]
        padded = [axes + one if left else one + axes for axes, one in zip(own, ones, strict=True)]
        fits = [(local_range if is_each else (1,) * rank) + axes for axes, is_each in zip(padded, each, strict=True)]
        if all(len(set(sizes) - {1}) <= 1 for sizes in zip(*fits, strict=True)):
            return fits
    return None


def _indexed(shape: tuple[int, ...], fit: tuple[int, ...], rank: int) -> str:
    """The index that gives an array its fitting shape, such as `[:, None]`."""
    missing = len(fit) - len(shape)
    start = rank if shape[:rank] == fit[:rank] else 0
    at = len(shape) if fit[: len(shape)] == shape else start
    return f"[{', '.join([':'] * at + ['None'] * missing + [':'] * (len(shape) - at))}]"


# --- Arrays in place of memories ---

_OF_MEMORIES = ("load", "atomic", "name", "space")


def _too_many_indices(found: Found, place: _Place) -> str:
    if name := place.scalar("[", ".at"):
        return _scalar_for_array(name)
    rank, count = int(found[1]), int(found[2])
    return (
        f"an array of {rank} {'dimension' if rank == 1 else 'dimensions'} is indexed by {count}; a value of the kernel "
        "has the axes of the work-group, and then its own"
    )


def _no_attribute(found: Found, place: _Place) -> str:
    if name := place.scalar(f".{found[1]}"):
        return _scalar_for_array(name) if found[1] in _OF_MEMORIES else f"{name} is a scalar, which has no {found[1]}"
    what = f"an array of values has no attribute {found[1]}"
    return f"{what}; a memory has, as are the parameters and wg.local(...)" if found[1] in _OF_MEMORIES else what


def _scalar_for_array(name: str) -> str:
    return f"{name} is a scalar, as the launch is given a number for it; give an array where the kernel indexes it"


# --- Python's numbers ---


def _too_large(found: Found, place: _Place) -> str:
    number = int(found["n"])
    written = str(number) if abs(number) < 10**40 else f"of {len(str(abs(number)))} digits"
    where = f"does not fit {found['dtype']}" if found.groupdict().get("dtype") else "does not fit the array beside it"
    return f"the Python int {written} {where}: {_typed(number)}"


def _typed(number: int) -> str:
    if 0 <= number < 2**32:
        return f"it takes an unsigned type: write jnp.uint32({number}), and convert the other operand to jnp.uint32"
    if -(2**63) <= number < 2**64:
        name = "int64" if number < 2**63 else "uint64"
        return f"it takes 64 bits, jnp.{name}({number}), which a kernel has if one of its memories has them"
    return "no integer type holds it; write a float, or compute it in parts"


_TYPE = r"(\w+)\[([\d,]*)\]"
_NUMBER = r"(?P<n>-?\d+)"
_SENTENCES: tuple[tuple[re.Pattern[str], Callable[[Found, _Place], str]], ...] = (
    (
        re.compile(rf"input carry(?: component)?(?: at path)? (.+?) has type {_TYPE} but .*? has type {_TYPE}"),
        _carry_of_other_type,
    ),
    (
        re.compile(
            rf"output of (true_fun|branch ?\d+)(?: at path (.+?))? has type {_TYPE} but the corresponding output of "
            rf"(false_fun|branch ?\d+) has type {_TYPE}"
        ),
        _branches_of_other_type,
    ),
    (
        re.compile(
            r"input carry(?: component)?(?: at path)? (\S+) is an? (.+?) but the corresponding component of the carry "
            r"output is an? (.+?), so "
        ),
        _carry_of_other_structure,
    ),
    (
        re.compile(
            r"(true_fun|branch ?\d+) output(?: at path (\S+))? is an? (.+?) but (false_fun|branch ?\d+) output"
            r"(?: at path \S+)? is an? (.+?), so "
        ),
        _branches_of_other_structure,
    ),
    (re.compile(r"scan body output must be a pair"), _no_pair),
    (re.compile(rf"cond_fun must return a boolean scalar, but got output.*?{_TYPE}"), _predicate_of_loop),
    (re.compile(r"cond_fun must return a boolean scalar, but got pytree"), _no_predicate),
    (re.compile(r"Pred must be a scalar, got (.*) of shape \(([\d, ]*)\)"), _predicate_of_branch),
    (re.compile(r"Branch index must be scalar, got .* of shape \(([\d, ]*)\)"), _number_of_branch),
    (re.compile(r"Index type must be an integer, got .* as (\w+)"), _number_of_other_type),
    (
        re.compile(r"lower and upper arguments to fori_loop must have equal types, got (\w+) and (\w+)"),
        _bounds_of_other_types,
    ),
    (
        re.compile(rf"Python int(?:eger)? {_NUMBER} (?:too large to convert to|out of bounds for) (?P<dtype>\w+)"),
        _too_large,
    ),
    (re.compile(r"(?P<operation>\w+) got incompatible shapes for broadcasting: (?P<shapes>[\d(), ]+)"), _no_broadcast),
    (re.compile(r"Incompatible shapes for broadcasting: shapes=\[(?P<shapes>[\d(), ]+)\]"), _no_broadcast),
    (re.compile(r"Too many indices: array is (\d+)-dimensional, but (\d+) were indexed"), _too_many_indices),
    (re.compile(r"DynamicJaxprTracer(?: object)?'? has no attribute '?(\w+)"), _no_attribute),
    (re.compile(rf"An overflow was encountered.* with value {_NUMBER}", re.S), _too_large),
)
"""What JAX says, of which the first one found counts, and how it is told."""
