"""The version of xeemu."""

import functools
import importlib.metadata


@functools.cache
def version() -> str:
    """Of the installed package; xeemu need not be installed to be used."""
    try:
        return importlib.metadata.version("xeemu")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
