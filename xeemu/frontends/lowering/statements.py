"""Statements: carried out one after the other, one rule for each kind."""

from xeemu.frontends import arithmetic, composites, types, values
from xeemu.frontends.lowering import branches, loops, memories, presence, registers, truths
from xeemu.frontends.lowering.walk import NOBODY, Jumps, Walk
from xeemu.frontends.tree import (
    Block,
    Break,
    Case,
    Cast,
    Continue,
    Declaration,
    Evaluate,
    Expression,
    Goto,
    If,
    Initializer,
    Loop,
    Return,
    Statement,
    Switch,
    Text,
    Variable,
)
from xeemu.frontends.values import Data, Null, Number, Pointing


def execute(walk: Walk, node: Statement) -> None:
    """Carries out a statement, for those who are active."""
    match node:
        case Block(statements=statements):
            for statement in statements:
                walk.execute(statement)
        case Declaration(variables=variables):
            for variable in variables:
                declare(walk, variable)
        case Evaluate(expression=expression):
            walk.evaluate(expression, False)
        case If():
            _if(walk, node)
        case Loop():
            loops.execute(walk, node)
        case Switch():
            _switch(walk, node)
        case Break():
            jumps = walk.frame.jumps[-1]
            jumps.broken = values.disjunction(jumps.broken, walk.leave())
        case Continue():
            jumps = next(j for j in reversed(walk.frame.jumps) if j.loop)
            jumps.continued = values.disjunction(jumps.continued, walk.leave())
        case Return():
            _return(walk, node)
        case Goto():
            raise walk.refuse("goto in a kernel; write a loop with break and continue, or a flag", node.place)


def declare(walk: Walk, variable: Variable) -> None:
    """Makes a variable; one in a memory is only given its values."""
    if variable.space in ("constant", "global"):
        return
    if variable in walk.memories:
        if variable.initializer is not None:
            of = types.Pointer(variable.type, variable.space)
            start = Pointing(of, variable, values.constant(0, types.INT))
            _initialise(walk, start, variable.type, variable.initializer)
        elif variable in walk.renewed:
            memories.begin(walk, variable)
        return
    given = variable.initializer
    nothing = registers.unset(variable.type) if variable in walk.promoted else Null(variable.type, False)
    if given is None:
        walk.declare(variable, nothing)
        presence.begin(walk, variable)
        return

    def converted() -> values.Value:
        return registers.held(walk, variable, arithmetic.converted(walk.evaluate(given), variable.type))

    walk.declare(variable, walk.named(variable.name, converted))


def _initialise(walk: Walk, start: Pointing, of: types.Type, node: Expression | None) -> None:
    """Stores what an initialiser gives to a memory, zeros where it gives nothing."""
    while isinstance(node, Cast) and isinstance(node.operand, Initializer | Text):
        node = node.operand
    if isinstance(node, Initializer) and isinstance(of, types.Array):
        for k in range(of.count):
            part = memories.further(walk, start, k * of.element.size, of.element)
            _initialise(walk, part, of.element, node.items[k] if k < len(node.items) else None)
    elif isinstance(node, Initializer) and isinstance(of, types.Record):
        fields = [of.field(node.member)] if node.member else of.fields[:1] if of.union else of.fields
        given = dict(zip((f.name for f in fields), node.items, strict=False))
        for field in fields:
            part = memories.further(walk, start, field.offset, field.type)
            _initialise(walk, part, field.type, given.get(field.name))
    elif isinstance(node, Text) and isinstance(of, types.Array):
        codes = [ord(c) for c in node.value[: of.count]]
        for k in range(of.count):
            part = memories.further(walk, start, k * of.element.size, of.element)
            code = values.constant(codes[k] if k < len(codes) else 0, types.CHAR)
            memories.store(walk, part, code, of.element)
    else:
        value = values.zero(of) if node is None else arithmetic.converted(walk.evaluate(node), of)
        memories.store(walk, start, value, of)


def _if(walk: Walk, node: If) -> None:
    condition = truths.of(walk, walk.evaluate(node.condition))
    if isinstance(condition, values.np.generic):
        chosen = node.then if condition else node.otherwise
        if chosen is not None:
            walk.execute(chosen)
        return
    if branches.is_worthwhile(walk, node, condition):
        branches.execute(walk, node, condition)
        return
    then, otherwise = node.then, node.otherwise
    before = walk.live
    walk.under(condition, lambda: walk.execute(then))
    if otherwise is not None:
        _otherwise(walk, before, condition, otherwise)


def _otherwise(walk: Walk, before: Data | None, condition: Data, node: Statement) -> None:
    """The other side, for those who were active and did not take the first one."""
    stayed = walk.live
    if stayed is before:
        walk.under(values.negation(condition), lambda: walk.execute(node))
        return
    walk.live = before
    others = values.negation(condition)
    walk.under(others, lambda: walk.execute(node))
    # Who jumped in the first side is still out.
    first = values.conjunction(condition, stayed)
    second = values.conjunction(others, walk.live)
    assert first is not None
    assert second is not None
    walk.live = values.disjunction(first, second)


def _return(walk: Walk, node: Return) -> None:
    frame = walk.frame
    if node.value is not None:
        value = arithmetic.converted(walk.evaluate(node.value), frame.function.result)
        if frame.result is not None and walk.live is not None:
            value = composites.selected(walk.live, value, frame.result)
        frame.result = value
    frame.returned = values.disjunction(frame.returned, walk.leave())


def _switch(walk: Walk, node: Switch) -> None:
    value = walk.evaluate(node.value)
    assert isinstance(value, Number)
    labels = [_matches(value, case) for case in node.cases]
    some: Data = NOBODY
    for label in labels:
        some = values.disjunction(some, label)
    jumps = Jumps(loop=False)
    walk.frame.jumps.append(jumps)
    live, region = walk.live, walk.region
    everybody = values.np.bool_(True) if live is None else live
    falling: Data = NOBODY
    for case, label in zip(node.cases, labels, strict=True):
        entered = values.disjunction(label, values.negation(some)) if case.default else label
        arriving = values.conjunction(everybody, entered)
        assert arriving is not None
        falling = _case(walk, case, values.disjunction(falling, arriving))
    walk.frame.jumps.pop()
    walk.region = region
    walk.live = _after(live, everybody, node, some, values.disjunction(falling, jumps.broken))


def _case(walk: Walk, case: Case, mask: Data) -> Data:
    """The statements below a label, for those who get there; gives who falls through to the next one."""
    walk.live, walk.region = (None if isinstance(mask, values.np.generic) and mask else mask), object()
    with walk.scope():
        for statement in case.statements:
            walk.execute(statement)
    return values.np.bool_(True) if walk.live is None else walk.live


def _matches(value: Number, case: Case) -> Data:
    found: Data = NOBODY
    for low, high in case.values:
        bounds = [values.constant(n, value.type) for n in (low, high)]
        above = arithmetic.binary(">=", value, bounds[0], types.INT)
        below = arithmetic.binary("<=", value, bounds[1], types.INT)
        equal = arithmetic.binary("==", value, bounds[0], types.INT)
        one = values.truth(equal) if low == high else values.conjunction(values.truth(above), values.truth(below))  # type: ignore[arg-type]
        found = values.disjunction(found, one)  # type: ignore[arg-type]
    return found


def _after(live: Data | None, everybody: Data, node: Switch, some: Data, out: Data) -> Data | None:
    """Who goes on after a switch: those who left it, and those whom no label fitted."""
    if not any(case.default for case in node.cases):
        unmatched = values.conjunction(everybody, values.negation(some))
        assert unmatched is not None
        out = values.disjunction(out, unmatched)
    if isinstance(out, values.np.generic) and out:
        return live
    return out if _jumps_out(node) else live


def _jumps_out(node: Switch) -> bool:
    """True if somebody may leave a function or an iteration from within a switch."""
    return any(loops.jumps(s, switch=True) for case in node.cases for s in case.statements)
