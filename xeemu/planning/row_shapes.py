"""Row shapes: the shapes in which all stores see the global memories that a kernel only stores to (see `windows`).

XLA copies a memory that it sees in several shapes, so that they have to agree.
"""

import dataclasses
from collections.abc import Mapping

from xeemu.ir import ops
from xeemu.ir.program import Op
from xeemu.knowledge import analysis
from xeemu.knowledge.analysis import Facts, Known
from xeemu.planning import strided_windows
from xeemu.planning.chunk import Chunk
from xeemu.planning.references import Reference
from xeemu.planning.storage import Storage


def of_program(facts: Facts, chunk: Chunk, storages: Mapping[int, Storage]) -> dict[int, tuple[int, ...]]:
    """For the numbers of arguments that are such memories the shape of rows of rows that their stores agree in.

    Args:
      facts: what is known of a program.
      chunk: the work-groups.
      storages: for the number of each argument that is a memory how it is stored.
    """
    if not chunk.target.gathers_one_by_one:
        return {}
    stores, found = _only_stored(facts), {}
    for number, storage in storages.items():
        each = stores.get(facts.values[facts.body.inputs[number]], ())
        shapes = {_rows_of_store(op, facts, chunk, storage) for op in each}
        shape = shapes.pop() if len(shapes) == 1 else None
        if shape is not None:
            found[number] = shape
    return found


def _rows_of_store(op: Op, facts: Facts, chunk: Chunk, storage: Storage) -> tuple[int, ...] | None:
    """The shape in which a store to global memory sees it as rows of rows; None if it does not, or may not.

    Args:
      op: the store.
      facts: what is known of its operands.
      chunk: the work-groups.
      storage: of the memory.
    """
    reference = Reference.of_op(op, dataclasses.replace(storage, alone=True), facts)
    if reference.masked or reference.is_empty or not reference.address.proved:
        return None
    window = strided_windows.of_reference(reference, chunk)
    if window is None or not window.start.rows or not (storage.alone or not window.strided.dense):
        return None
    return window.rectangle.shape


def _only_stored(facts: Facts) -> dict[Known, list[Op]]:
    """The stores to memories that nothing else uses, in no loop, branch or subprogram."""
    stores, others = dict[Known, list[Op]](), set[Known]()
    for inner in analysis.bodies(facts):
        for op in inner.body.ops:
            if op.name in ops.ACCESSES:
                memory = inner.values[op.operands[0]]
                if op.name == ops.STORE and inner is facts:
                    stores.setdefault(memory, []).append(op)
                else:
                    others.add(memory)
    return {memory: found for memory, found in stores.items() if memory not in others}
