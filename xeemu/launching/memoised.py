"""Memoised: the last value of a function of arrays, known again by their contents."""

import hashlib
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

_T = TypeVar("_T")

# So few are kept and compared as they are, at several GB/s; of more a digest is made.
_FEW_BYTES = 1 << 22
# SHA-256 by a core that has instructions for it (AMD EPYC: 1.5e9).
_DIGESTED_BYTES_PER_S = 1.5e9
# Contents are looked at if that takes at most such a part of the time that the function took.
_MOST_OF_THE_TIME = 1 / 2


class Kept(NamedTuple, Generic[_T]):
    """A value that is known again, of whatever type."""

    value: _T


class Memoised(Generic[_T]):
    """The last value of a function of arrays, known again by their contents where that is worth its time.

    The arrays have the same shapes and dtypes at each call.
    """

    def __init__(self) -> None:
        self._contents: Sequence[bytes] = ()
        self._kept: Kept[_T] | None = None
        self._looked_at: Sequence[_Buffer] | None = None

    def known(self, given: Sequence[Any]) -> Kept[_T] | None:
        """The value for arrays and scalars that hold the same bytes as those of the last call; None if they do not."""
        # Should the function raise an error, nothing is left of others.
        kept, self._kept, self._looked_at = self._kept, None, None
        if kept is None:
            return None
        buffers = _buffers(given)
        if not all(map(_holds, self._contents, buffers)):
            self._looked_at = buffers
            return None
        self._kept = kept
        return kept

    def keep(self, given: Sequence[Any], value: _T, spent_s: float) -> None:
        """Takes what the function has given, and keeps it if that is worth while.

        Args:
          given: the arguments, of which `known` has just told nothing.
          value: the function's.
          spent_s: processor time to compute it.
        """
        looked_at, self._looked_at = self._looked_at, None
        size_bytes = sum(np.asarray(x).nbytes for x in given)
        if size_bytes / _DIGESTED_BYTES_PER_S <= _MOST_OF_THE_TIME * spent_s:
            self._contents = [bytes(buffer) for buffer in looked_at or _buffers(given)]
            self._kept = Kept(value)


_Buffer = bytes | memoryview


def _buffers(given: Sequence[Any]) -> Sequence[_Buffer]:
    """The bytes of each array, where they lie, if all are few, else a digest of them."""
    arrays = [np.ascontiguousarray(x).reshape(-1).view(np.uint8).data for x in given]
    if sum(array.nbytes for array in arrays) <= _FEW_BYTES:
        return arrays
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array)
    return [digest.digest()]


def _holds(contents: bytes, buffer: _Buffer) -> bool:
    """True if a buffer of as many bytes holds these; by a comparison of memory, which copies nothing."""
    return contents.startswith(buffer)
