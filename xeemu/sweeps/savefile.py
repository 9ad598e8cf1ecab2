"""SaveFile: the finished rows of a sweep on disk, one JSON object in each line, for an interrupted one to go on from.

A row is found again by its key, a digest of everything that its figures follow from: the code of the kernel and of what
it calls and closes over, the configuration, the device's figures, the shapes, dtypes and scalars of the arguments, and
xeemu itself. Figures that were counted in a run follow from the contents of the arrays too, which such a row names by a
digest of its own.
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from xeemu.errors import KernelArgumentError

_LONGEST_SHOWN = 40
_BEGINNING = b'{"kernel": '
_FIELDS = ("kernel", "key", "contents", "time_s", "bound", "occupancy", "mark", "reason", "basis", "missing", "limit")


class SaveFile:
    """The rows that a file holds, and more of them as they come; a context manager, which closes the file.

    The file is read when this is made, and written to with the first row that is added. A last line that was not
    written to its end, as by an interrupt, counts as not there, and goes then.

    Args:
      path: of the file; one that is not there is made.
      kernel: name of the kernel whose rows it holds.

    Raises:
      KernelArgumentError: the file cannot be read, is none of a sweep, or holds the rows of another kernel.
    """

    def __init__(self, path: str | os.PathLike[str], kernel: str):
        self._path, self._kernel = Path(path), kernel
        self._file: Any = None
        try:
            data = self._path.read_bytes() if self._path.exists() else b""
        except OSError as error:
            raise KernelArgumentError(f"save={str(path)!r} cannot be read: {error.strerror}") from None
        self._entries, self._end = _entries(data, self._path, kernel)

    def __enter__(self) -> "SaveFile":
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def find(self, key: str, contents: Callable[[], str]) -> Mapping[str, Any] | None:
        """The saved row of that key, as `add` was given it.

        Args:
          key: of the row.
          contents: gives the digest of the arrays' contents; called only if the row depends on them.
        """
        entry = self._entries.get(key)
        if entry is None or (entry["contents"] is not None and entry["contents"] != contents()):
            return None
        return entry

    def add(self, key: str, contents: str | None, row: Mapping[str, Any]) -> None:
        """Writes a row at once.

        Args:
          key: of the row.
          contents: the digest of the arrays' contents, if the row depends on them.
          row: its fields as plain data.
        """
        entry = {"kernel": self._kernel, "key": key, "contents": contents, **row}
        if self._file is None:
            self._file = self._opened()
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()
        self._entries[key] = entry

    def _opened(self) -> Any:
        try:
            file = self._path.open("a", encoding="ascii", newline="\n")
            file.truncate(self._end)
        except OSError as error:
            raise KernelArgumentError(f"save={str(self._path)!r} cannot be written: {error.strerror}") from None
        return file


def _entries(data: bytes, path: Path, kernel: str) -> tuple[dict[str, dict[str, Any]], int]:
    """The entries of a file by key, the last of each, and where the last whole line ends."""
    entries: dict[str, dict[str, Any]] = {}
    lines, end = data.splitlines(keepends=True), 0
    for number, line in enumerate(lines, 1):
        entry = _entry(line)
        if entry is None:
            ours = number > 1 or line.startswith(_BEGINNING) or _BEGINNING.startswith(line)
            if number == len(lines) and ours:
                break
            raise KernelArgumentError(
                f"line {number} of {path} is {_kind(line)}, no row of a sweep; save to another file"
            )
        if entry["kernel"] != kernel:
            raise KernelArgumentError(
                f"{path} holds a sweep of the kernel {entry['kernel']}; save that of {kernel} to another file"
            )
        entries[entry["key"]] = entry
        end += len(line)
    return entries, end


def _kind(line: bytes) -> str:
    """What a line is that is no row."""
    try:
        text = line.decode().strip()
        found = json.loads(text)
    except UnicodeDecodeError:
        return "binary data"
    except ValueError:
        if line.startswith(_BEGINNING):
            return "a row that was cut off"
        shown = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "..."
        return f"the text {shown!r}" if text else "empty"
    if isinstance(found, dict):
        missing = [name for name in _FIELDS if name not in found]
        return f"a JSON object without {missing[0]!r}" if missing else "a row without its end"
    return f"JSON, {'a list' if isinstance(found, list) else 'a value'}"


def _entry(line: bytes) -> dict[str, Any] | None:
    """What a line holds; nothing if it is not a whole row."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    whole = line.endswith(b"\n") and isinstance(entry, dict) and all(name in entry for name in _FIELDS)
    return entry if whole else None
