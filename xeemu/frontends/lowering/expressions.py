"""Expressions: their values, one rule for each kind of node."""

import dataclasses
from collections.abc import Callable, Sequence

from xeemu.frontends import arithmetic, composites, types, values
from xeemu.frontends.lowering import addresses, calls, effects, places, pointers, truths, unions
from xeemu.frontends.lowering.walk import Binding, Walk
from xeemu.frontends.tree import (
    Assignment,
    Binary,
    Braced,
    Call,
    Cast,
    Choice,
    Constant,
    Evaluate,
    Expression,
    Initializer,
    Name,
    Step,
    Text,
    Unary,
    Variable,
)
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import (
    ArrayValue,
    Components,
    Data,
    Either,
    Fields,
    Handle,
    Null,
    Number,
    Pointing,
    RegisterAddress,
    Value,
)


def evaluate(walk: Walk, node: Expression, used: bool) -> Value:
    """The value of an expression; `used` says if anybody needs it."""
    match node:
        case Constant(type=to, value=value):
            return _constant(walk, node)
        case Text(type=to, value=value):
            return Handle(to, value)
        case Name() if isinstance(node.type, types.Array):
            return _array(walk, node)
        case Unary(op="&", type=to, operand=operand):
            assert isinstance(to, types.Pointer)
            return places.address(walk, places.of(walk, operand, accessed=False), to)
        case Unary(op=op) if op != "*":
            return _unary(walk, node)
        case Step():
            return _step(walk, node)
        case Binary():
            return _binary(walk, node, used)
        case Assignment():
            return _assignment(walk, node)
        case Choice():
            return _choice(walk, node)
        case Cast():
            return _cast(walk, node)
        case Initializer():
            return _initializer(walk, node)
        case Call():
            return calls.value(walk, node, used)
        case Braced():
            return _braced(walk, node, used)
    if isinstance(node.type, types.Array):
        return _array(walk, node)
    return places.read(walk, places.of(walk, node))


def _constant(walk: Walk, node: Constant) -> Value:
    assert isinstance(node.type, Scalar | types.Pointer)
    return values.constant(node.value, node.type) if isinstance(node.type, Scalar) else Null(node.type)


def _array(walk: Walk, node: Expression) -> Value:
    """An array decays to a pointer to its first element."""
    assert isinstance(node.type, types.Array)
    return _decayed(walk, node.type, places.of(walk, node))


def _decayed(walk: Walk, of: types.Array, spot: places.Spot) -> Value:
    private = types.Pointer(of.element, "private")
    match spot:
        case places.Cell(pointer):
            return dataclasses.replace(pointer, type=dataclasses.replace(pointer.type, pointee=of.element))
        case places.Slot(key, path) if isinstance(of.element, types.Opaque):
            return RegisterAddress(private, key, (*path, 0))
        case places.Slot(key, path):
            return RegisterAddress(private, key, (*path, values.constant(0, types.INT)))
        case places.Chosen(condition, a, b):
            return Either(private, condition, _decayed(walk, of, a), _decayed(walk, of, b))
        case places.Temporary(ArrayValue() as value):
            key = walk.frame.number, Variable("a value", of, "private", walk.place)
            walk.bindings[key] = Binding(value, walk.region, len(walk.frame.jumps))
            return RegisterAddress(private, key, (values.constant(0, types.INT),))
        case places.Temporary(value):
            return value
    raise AssertionError(spot)


def _unary(walk: Walk, node: Unary) -> Value:
    value = walk.evaluate(node.operand)
    if node.op == "!":
        return complement(walk, value)
    converted = arithmetic.converted(value, node.type)
    if node.op == "+":
        return converted
    return arithmetic.negated(converted) if node.op == "-" else arithmetic.inverted(converted)


def complement(walk: Walk, value: Value) -> Value:
    """`!value`; a pointer is 0 if it is null."""
    if isinstance(value, Number | Components):
        return arithmetic.complement(value)
    return values.of_truth(values.negation(truths.of(walk, value)))


def _step(walk: Walk, node: Step) -> Value:
    spot = places.of(walk, node.operand)
    old = places.read(walk, spot)
    sign = 1 if node.op == "++" else -1
    if isinstance(node.type, types.Pointer):
        new = places.advanced(walk, old, values.constant(sign, types.INT), node.type.pointee.size)
    else:
        new = _computed(walk, "+", old, values.constant(sign, types.INT), node.type)
    places.write(walk, spot, new)
    return new if node.prefix else old


def _computed(walk: Walk, op: str, a: Value, b: Value, to: types.Type) -> Value:
    """`a op= b`: computed in the type that C finds for both, and converted back."""
    if isinstance(to, types.Vector):
        return arithmetic.binary(op, a, arithmetic.converted(b, to) if op not in ("<<", ">>") else b, to)
    assert isinstance(to, Scalar)
    assert isinstance(b, Number)
    assert isinstance(a, Number)
    common = types.promoted(to) if op in ("<<", ">>") else types.common(to, b.type)
    right = b if op in ("<<", ">>") else values.converted(b, common)
    return arithmetic.converted(arithmetic.binary(op, values.converted(a, common), right, common), to)


def _binary(walk: Walk, node: Binary, used: bool) -> Value:
    if node.op == ",":
        walk.evaluate(node.left, False)
        return walk.evaluate(node.right, used)
    if node.op in ("&&", "||"):
        return _logical(walk, node)
    if not used:  # as `atomic += x` gives the new value, for which the old one would be asked
        walk.evaluate(node.left, False)
        walk.evaluate(node.right, False)
        return Null(types.VOID)
    a, b = walk.evaluate(node.left), walk.evaluate(node.right)
    if isinstance(node.left.type, types.Pointer | types.Array) or isinstance(
        node.right.type, types.Pointer | types.Array
    ):
        return pointers.computed(walk, node, a, b)
    if isinstance(node.type, types.Vector) and node.op in arithmetic.COMPARISONS:
        wide = node.left.type if isinstance(node.left.type, types.Vector) else node.right.type
        a, b = arithmetic.converted(a, wide), arithmetic.converted(b, wide)
    elif isinstance(node.type, types.Vector) and node.op not in ("<<", ">>"):
        a, b = arithmetic.converted(a, node.type), arithmetic.converted(b, node.type)
    return arithmetic.binary(node.op, a, b, node.type)


def _logical(walk: Walk, node: Binary) -> Value:
    """`&&` and `||`: the right side is evaluated by those alone whom the left one does not decide."""
    left = walk.evaluate(node.left)
    if isinstance(left, Components):
        return _logical_vectors(walk, node, left)
    first = truths.of(walk, left)
    if not isinstance(first, values.np.generic) and effects.is_speculable(node.right):
        return _combined(node.op, first, truths.of(walk, walk.evaluate(node.right)))
    found: list[Data] = []
    needed = first if node.op == "&&" else values.negation(first)
    walk.under(needed, lambda: found.append(truths.of(walk, walk.evaluate(node.right))))
    return _combined(node.op, first, found[0]) if found else values.of_truth(first)


def _combined(op: str, first: Data, second: Data) -> Value:
    both = (values.conjunction if op == "&&" else values.disjunction)(first, second)
    assert both is not None
    return values.of_truth(both)


def _logical_vectors(walk: Walk, node: Binary, left: Components) -> Value:
    right = walk.evaluate(node.right)
    of = node.type
    assert isinstance(of, types.Vector)
    combine = values.conjunction if node.op == "&&" else values.disjunction
    rights = right.items if isinstance(right, Components) else (right,) * of.count
    truths = [combine(values.truth(x), values.truth(y)) for x, y in zip(left.items, rights, strict=True)]  # type: ignore[arg-type]
    return Components(of, tuple(arithmetic.mask(t, of.element) for t in truths))  # type: ignore[arg-type]


def _assignment(walk: Walk, node: Assignment) -> Value:
    to = node.target.type
    if not node.op:
        value = _named(walk, node.target, lambda: arithmetic.converted(walk.evaluate(node.value), to))
        places.write(walk, places.of(walk, node.target), value)
        return value
    right = walk.evaluate(node.value)
    spot = places.of(walk, node.target)
    old = places.read(walk, spot)
    if isinstance(to, types.Pointer):
        assert isinstance(right, Number)
        value = places.advanced(walk, old, right, to.pointee.size, 1 if node.op == "+" else -1)
    else:
        value = _named(walk, node.target, lambda: _computed(walk, node.op, old, right, to))
    places.write(walk, spot, value)
    return value


def _named(walk: Walk, target: Expression, call: Callable[[], Value]) -> Value:
    """What is computed for a variable, by its name."""
    return walk.named(target.variable.name, call) if isinstance(target, Name) else call()


def _choice(walk: Walk, node: Choice) -> Value:
    condition = walk.evaluate(node.condition)
    if isinstance(condition, Components):
        return _choice_of_vectors(walk, node, condition)
    where = truths.of(walk, condition)
    if isinstance(where, values.np.generic):
        return arithmetic.converted(walk.evaluate(node.then if where else node.otherwise), node.type)
    found: list[Value] = []
    for then, side in ((True, node.then), (False, node.otherwise)):
        if effects.is_speculable(side):
            found.append(walk.evaluate(side))
        else:
            mask = where if then else values.negation(where)
            walk.under(mask, lambda side=side: found.append(walk.evaluate(side)))  # type: ignore[misc]
    chosen = [arithmetic.converted(value, node.type) for value in found]
    return composites.selected(where, *chosen) if len(chosen) == 2 else chosen[0] if chosen else Null(node.type)


def _choice_of_vectors(walk: Walk, node: Choice, condition: Components) -> Value:
    """Component by component: `then` where the sign bit is set."""
    a, b = (arithmetic.converted(walk.evaluate(side), node.type) for side in (node.then, node.otherwise))
    assert isinstance(node.type, types.Vector)
    assert isinstance(a, Components)
    assert isinstance(b, Components)
    negative = [arithmetic.binary("<", n, values.constant(0, n.type), types.INT) for n in condition.items]
    masks = [values.truth(n) for n in negative]  # type: ignore[arg-type]
    items = [composites.selected(m, x, y) for m, x, y in zip(masks, a.items, b.items, strict=True)]
    return Components(node.type, tuple(items))  # type: ignore[arg-type]


def _cast(walk: Walk, node: Cast) -> Value:
    if isinstance(node.operand, Initializer) and not isinstance(node.type, Scalar | types.Pointer):
        return walk.evaluate(node.operand)
    if isinstance(node.type, types.Void):
        walk.evaluate(node.operand, False)
        return Null(node.type)
    value = walk.evaluate(node.operand)
    if isinstance(node.type, types.Pointer):
        of = node.operand.type
        path = types.base_path(node.type.pointee, of.pointee) if isinstance(of, types.Pointer) else []
        return places.derived(walk, value, node.type, path) if path else _pointer_to(node.type, value)
    if isinstance(node.operand.type, types.Pointer) and isinstance(node.type, Scalar):
        if node.type.is_bool:
            return values.of_truth(truths.of(walk, value), node.type)
        return addresses.of(walk, value, node.type)
    if node.type == types.Opaque("event_t") and isinstance(value, Number):
        return Null(node.type)
    return arithmetic.converted(value, node.type)


def _pointer_to(to: types.Pointer, value: Value) -> Value:
    """A pointer as one to another type; it points to the same place."""
    match value:
        case Pointing(type=of, memory=memory, offset=offset):
            pointee = of.pointee if isinstance(to.pointee, types.Void | types.Opaque) else to.pointee
            return Pointing(types.Pointer(pointee, of.space, to.const, to.volatile), memory, offset)
        case Either(condition=condition, then=a, otherwise=b):
            return Either(to, condition, _pointer_to(to, a), _pointer_to(to, b))
        case Number():
            return Null(to, given=value.known and value.python == 0)
    return value


def _initializer(walk: Walk, node: Initializer) -> Value:
    of = node.type
    match of:
        case types.Vector(element=element, count=count):
            numbers = [n for item in node.items for n in composites.leaves(walk.evaluate(item))]
            numbers = numbers * count if len(numbers) == 1 else numbers
            full = [*numbers, *[values.constant(0, element)] * (count - len(numbers))]
            return Components(of, tuple(values.converted(n, element) for n in full))
        case types.Record(fields=fields, union=True):
            return _union(walk, of, of.field(node.member) if node.member else fields[0], node.items)
        case types.Record(fields=fields):
            given = dict(zip((f.name for f in fields), node.items, strict=False))
            items = {f.name: _item(walk, given.get(f.name), f.type) for f in fields}
            return Fields(of, items)
        case types.Array(element=inner, count=count):
            return ArrayValue(
                of, tuple(_item(walk, node.items[k] if k < len(node.items) else None, inner) for k in range(count))
            )
    return arithmetic.converted(walk.evaluate(node.items[0]), of) if node.items else values.zero(of)


def _union(walk: Walk, of: types.Record, field: types.Field, items: Sequence[Expression]) -> Value:
    """A union of which a member is given, or nothing."""
    nothing = values.zero(of)
    if not items:
        return nothing
    if reason := unions.unreadable(of, field.name):
        raise walk.refuse(reason)
    assert isinstance(nothing, Fields)
    return unions.replaced(of, nothing.items, field.name, _item(walk, items[0], field.type))


def _braced(walk: Walk, node: Braced, used: bool) -> Value:
    """Statements in an expression: the value of the last one, if it is an expression."""
    *before, last = node.block.statements or (None,)
    for statement in before:
        walk.execute(statement)
    if isinstance(last, Evaluate):
        return Null(node.type) if walk.dead else walk.evaluate(last.expression, used)
    if last is not None:
        walk.execute(last)
    return Null(node.type)


def _item(walk: Walk, node: Expression | None, of: types.Type) -> Value:
    return values.zero(of) if node is None else arithmetic.converted(walk.evaluate(node), of)
