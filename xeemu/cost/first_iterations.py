"""First iterations: the executions of an access of a loop in which the loop has just begun."""

from collections.abc import Sequence, Set

from xeemu.knowledge.access_tree import MemoryOperation, Node
from xeemu.knowledge.analysis import Facts
from xeemu.knowledge.expressions import LoopAxis
from xeemu.knowledge.periodicity import Box


def of_operation(operation: MemoryOperation, around: Facts) -> MemoryOperation | None:
    """An operation in the first iterations of the loops between it and a body around it; None if it is in others."""
    boxes, node = operation.node.boxes, operation.node
    while node.facts is not around and node.parent is not None:
        if _is_later(node):
            return None
        boxes, node = _first(boxes, counters(node)), node.parent
    return operation.within(boxes)


def begun(root: Node) -> frozenset[Facts]:
    """The call paths of bodies that are executed in each execution of the body around them."""
    nodes = [node for node in root.nodes() if node.parent is not None and not _is_later(node)]
    others = {node.facts for node in nodes if not _always_begins(node)}
    return frozenset({node.facts for node in nodes} - others - _absent(root))


def _absent(root: Node) -> set[Facts]:
    """Bodies that some iterations do without, of a loop that was walked iteration by iteration."""
    inner = [(node.facts, {step.facts for step in node.steps if isinstance(step, Node)}) for node in root.nodes()]
    every: dict[Facts, set[Facts]] = {}
    for around, bodies in inner:
        every.setdefault(around, set()).update(bodies)
    return {facts for around, bodies in inner for facts in every[around] - bodies}


def _always_begins(node: Node) -> bool:
    around, own = node.parent, counters(node)
    if around is None or node.conditions != around.conditions or not (node.certain or node.counted or node.walked):
        return False
    first = [{axis: box[axis] for axis in box if axis not in own} for box in _first(node.boxes, own)]
    return first == list(around.boxes)


def counters(node: Node) -> Set[LoopAxis]:
    """The axis of the iterations of a loop's body; none of other nodes, nor where each iteration has a node."""
    if node.kind not in ("iteration", "test") or node.parent is None:
        return set()
    return {axis for box in node.boxes for axis in box} - {axis for box in node.parent.boxes for axis in box}


def _first(boxes: Sequence[Box], axes: Set[LoopAxis]) -> list[Box]:
    """The executions among some in which some axes are 0."""
    begun = [box for box in boxes if all(0 in box[axis] for axis in axes)]
    return [{axis: range(1) if axis in axes else among for axis, among in box.items()} for box in begun]


def _is_later(node: Node) -> bool:
    """True of an iteration after the first, of a loop that was walked iteration by iteration."""
    assert node.parent is not None
    walked = (step for step in node.parent.steps if isinstance(step, Node) and step.facts is node.facts)
    return next(walked) is not node
