"""Given numbers: those of a launch's arguments that are constants of the program that is traced.

A front end may need them to trace a kernel, as of how many iterations a loop has. A compiler does not know them. What
such a number decides, which iterations a loop has or where a private array is accessed, is traced in a scope of JAX's
that says so, and becomes `Op.given`.
"""

import contextlib
from typing import Any

import jax

_SCOPE = "xe_given"


def scope(given: bool) -> contextlib.AbstractContextManager[Any]:
    """A context: what is traced in it hangs on a given number, if one is."""
    return jax.named_scope(_SCOPE) if given else contextlib.nullcontext()


def is_given(names: Any) -> bool:
    """True of an operation in JAX's named scopes if one says so."""
    return bool(names.stack) and any(getattr(scope, "name", None) == _SCOPE for scope in names.stack)
