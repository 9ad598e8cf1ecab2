"""Tracing: a traced program as data, for other programs to read."""

from typing import Any

import xeemu as xe


def to_dict(program: xe.Program) -> dict[str, Any]:
    """What a traced program is: its kernel, sizes, memories with their bytes, and the lines of its listing."""
    geometry = program.geometry
    return {
        "kernel": program.kernel.name,
        "file": program.kernel.function.__code__.co_filename,
        "static": {name: repr(value) for name, value in program.static},
        "global_range": list(geometry.global_range),
        "local_range": None if geometry.plain else list(geometry.local_range),
        "sub_group_size": geometry.sub_group_size,
        "local_bytes": program.local_bytes,
        "private_bytes_per_work_item": program.private_bytes,
        "memories": [
            {
                "name": memory.name,
                "space": memory.space,
                "dtype": str(memory.dtype),
                "shape": list(memory.shape),
                "bytes": memory.nbytes,
                "written": memory in program.written,
            }
            for memory in (*filter(None, program.arguments), *program.allocations)
        ],
        "listing": str(program).splitlines(),
    }
