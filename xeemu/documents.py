"""Documents: files of JSON that say what they are, such as reports and baselines."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from xeemu.errors import KernelArgumentError

T = TypeVar("T")

_FORMAT = 1


def write(path: str | os.PathLike[str], kind: str, data: Mapping[str, Any]) -> None:
    """Writes data into a file as a document of a kind, such as `report`."""
    text = json.dumps({f"xeemu {kind}": _FORMAT, **data}, indent=1)
    Path(path).write_text(f"{text}\n", encoding="utf-8")


def read(path: str | os.PathLike[str], kind: str, made: Callable[[Mapping[str, Any]], T], remedy: str) -> T:
    """What is made of the data of a document of a kind.

    Args:
      path: of the file.
      kind: what it should be.
      made: gives it from the data; raises KeyError, TypeError or ValueError where these do not hold it.
      remedy: what writes such a file.

    Raises:
      KernelArgumentError: the file cannot be read, or holds no such document.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        if not isinstance(data, dict) or data.get(f"xeemu {kind}") != _FORMAT:
            raise ValueError(f"it does not begin with 'xeemu {kind}': {_FORMAT}")
        return made(data)
    except OSError as error:
        raise KernelArgumentError(
            f"{os.fspath(path)} cannot be read: {error.strerror}; write one by {remedy}"
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise KernelArgumentError(f"{os.fspath(path)} is no {kind}: {error}; write one by {remedy}") from None
