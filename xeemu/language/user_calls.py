"""User calls: which function of JAX the user's line called, on the way to an operation."""

from xeemu.ir.program import Op
from xeemu.language import source

# JAX's frames between a user's call and the function called.
_WRAPPERS = frozenset({"reraise_with_filtered_traceback", "cache_miss", "deferring_binary_op", "meth", "wrapper"})

# What a user calls to ask for a dtype; what JAX widens by itself (sums, default ranges) goes through other functions.
_EXPLICIT = frozenset({"astype", "_astype", "convert_element_type", "asarray", "array", "__call__", "view"})


def called_by_user(op: Op) -> str:
    """The name of the function that the user's line called, on the way to binding `op`."""
    traceback = op.traceback
    called = ""
    for code in traceback.raw_frames()[0] if traceback is not None else ():
        if source.is_users(code.co_filename):
            return called
        if code.co_name not in _WRAPPERS:
            called = code.co_name
    return called


def asks_for_dtype(op: Op) -> bool:
    """True if the user asked for a conversion, rather than JAX's 64-bit mode."""
    return called_by_user(op) in _EXPLICIT
