"""Rowwise: global memories that a kernel only stores to, part by part, seen as rows of rows in one shape by all stores.

XLA copies a memory that it sees in several shapes, so that they have to agree.
"""

from collections.abc import Mapping

from xeemu.emission import row_views, strided_windows
from xeemu.emission.buffers import Buffer
from xeemu.emission.chunk import Chunk
from xeemu.emission.storage import Storage
from xeemu.ir import ops
from xeemu.ir.program import Op
from xeemu.knowledge import addressing, analysis
from xeemu.knowledge.analysis import Facts, Known
from xeemu.language.program import Program


def of_program(
    program: Program, facts: Facts, chunk: Chunk, buffers: Mapping[int, Buffer]
) -> dict[int, tuple[int, ...]]:
    """For the numbers of arguments that are such memories the shape that their stores agree in.

    Args:
      program, facts: a program and its analysis.
      chunk: the work-groups.
      buffers: for the number of each memory that it stores to what is in it.
    """
    stores, found = _only_stored(program, facts), {}
    for number, buffer in buffers.items():
        each = stores.get(facts.values[program.body.inputs[number]], ())
        shapes = {_rows_of_store(op, facts, chunk, buffer.storage) for op in each}
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
    dimensions, mask = len(chunk.geometry.group_range), ops.mask(op)
    known = None if mask is None else facts.value(mask, dimensions).form
    if analysis.doubted(op, facts, dimensions) or (mask is not None and (known is None or not known.constant)):
        return None
    address = addressing.foreseen(op, facts, dimensions)
    form = address.form
    if form is None or form.based or not address.elements.count:
        return None
    lattice = strided_windows.lattice_of(form, address.elements, True, True, chunk, None)
    if lattice is None or (lattice.dense and not storage.alone):
        return None
    offset, unit = int(form.pattern[0]) + lattice.least, strided_windows.unit_of(form, storage, chunk)
    return row_views.shape_of_rows(lattice, offset, unit, storage.held_elements)


def _only_stored(program: Program, facts: Facts) -> dict[Known, list[Op]]:
    """The stores to memories that nothing else uses, in no loop, branch or subprogram."""
    stores, others = dict[Known, list[Op]](), set[Known]()
    for body, facts_of_body in analysis.bodies(program.body, facts):
        for op in body.ops:
            if op.name in ops.ACCESSES:
                memory = facts_of_body.values[op.operands[0]]
                if op.name == ops.STORE and body is program.body:
                    stores.setdefault(memory, []).append(op)
                else:
                    others.add(memory)
    return {memory: found for memory, found in stores.items() if memory not in others}
