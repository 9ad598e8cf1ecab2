"""Digests of values, equal in every process: of functions and kernels their code, of arrays their contents."""

import functools
import hashlib
import re
import types
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import jax
import numpy as np

from xeemu.language import references
from xeemu.language.kernel import Kernel

_PACKAGE = Path(__file__).parents[1]
_ADDRESS = re.compile(" at 0x[0-9a-fA-F]+")


def digest(*values: Any) -> str:
    """A digest of values, equal in every process: of functions and kernels their code, of arrays their contents."""
    state = hashlib.blake2b(digest_size=16)
    for part in _parts(values, set()):
        state.update(b"%d:" % len(part))
        state.update(part)
    return state.hexdigest()


@functools.cache
def of_package() -> str:
    """A digest of the source of xeemu and of the version of JAX: what the model of a launch is made of."""
    return digest(jax.__version__, [path.read_text(encoding="utf-8") for path in sorted(_PACKAGE.rglob("*.py"))])


def _parts(value: Any, seen: set[int]) -> Iterator[bytes | memoryview]:
    """The bytes that stand for a value.

    Args:
      value: any; where nothing better is known, its text stands for it.
      seen: ids of functions and objects that have been given, with what they refer to.
    """
    yield type(value).__name__.encode()
    if isinstance(value, Kernel):
        made_of = value.function if value.interface is None else value.interface.identity
        yield from _parts((value.sub_group_size, value.work_group_size, value.grf_size, made_of), seen)
    elif isinstance(value, functools.partial):
        yield from _parts((value.func, value.args, value.keywords), seen)
    elif isinstance(value, types.FunctionType):
        yield from _function(value, seen)
    elif isinstance(value, types.MethodType):
        yield from _parts((value.__func__, value.__self__), seen)
    elif isinstance(value, type):
        yield from _class(value, seen)
    elif isinstance(value, Mapping):
        yield from _parts(tuple(value.items()), seen)
    elif isinstance(value, Set):
        yield from _parts(sorted(map(digest, value)), seen)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes | range):
        yield b"%d" % len(value)
        for item in value:
            yield from _parts(item, seen)
    elif isinstance(value, np.ndarray | jax.Array) and value.dtype != object:
        yield f"{value.dtype}{value.shape}".encode()
        yield memoryview(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
    elif (name := _name(value)) is not None:
        yield name.encode()
    else:
        yield from _text(value, seen)


def _name(value: Any) -> str | None:
    """The name by which Python knows a module, a class, a function of C or a compiled one."""
    name = getattr(value, "__qualname__", getattr(value, "__name__", None))
    return None if name is None else f"{getattr(value, '__module__', '')}.{name}"


def _text(value: Any, seen: set[int]) -> Iterator[bytes | memoryview]:
    """The text of an object; its attributes too if its text does not stand for them.

    A text that says where the object lies is another one in the next process. That of a user's object may leave out
    what it holds, as that of a large array in it does.
    """
    text = repr(value)
    yield _ADDRESS.sub("", text).encode()
    if id(value) not in seen and (_ADDRESS.search(text) or not references.is_of_library(type(value))):
        seen.add(id(value))
        yield from _class(type(value), seen)
        yield from _parts(getattr(value, "__dict__", {}), seen)


def _class(value: type, seen: set[int]) -> Iterator[bytes | memoryview]:
    """The name of a class, and the code of its methods and of those that it inherits, but for a library's."""
    yield f"{value.__module__}.{value.__qualname__}".encode()
    if id(value) in seen:
        return
    seen.add(id(value))
    for name, member in (item for each in value.__mro__ for item in sorted(vars(each).items())):
        function = getattr(member, "__func__", getattr(member, "fget", member))
        if isinstance(function, types.FunctionType) and not references.is_library(function.__code__.co_filename):
            yield name.encode()
            yield from _function(function, seen)


def _function(function: types.FunctionType, seen: set[int]) -> Iterator[bytes | memoryview]:
    """The code of a function, and all that it refers to which is no library's."""
    if id(function) in seen:
        return
    seen.add(id(function))
    code = function.__code__
    yield from _code(code)
    yield from _parts((function.__defaults__, function.__kwdefaults__), seen)
    names = set(references.names(code))
    variables = function.__globals__
    referred = {name: variables[name] for name in references.global_names(code) if name in variables}
    referred |= {name: cell.cell_contents for name, cell in references.enclosed(function)}
    for name, value in sorted(referred.items(), key=lambda item: item[0]):
        yield name.encode()
        yield from _referred(value, names, function.__module__, seen)


def _referred(value: Any, names: set[str], home: str, seen: set[int]) -> Iterator[bytes | memoryview]:
    """The bytes of what a function of the module `home` refers to, which uses the attributes `names` of modules."""
    if isinstance(value, types.ModuleType):
        yield value.__name__.encode()
        if not references.is_library(getattr(value, "__file__", None)):
            for name in sorted(names & vars(value).keys()):
                yield from _referred(vars(value)[name], set(), value.__name__, seen)
        return
    function = getattr(value, "__wrapped__", value)  # of a kernel, and of what jax.jit made
    if not isinstance(function, types.FunctionType):
        yield from _parts(value, seen)
    elif function.__module__ != home and references.is_library(function.__code__.co_filename):
        yield f"{function.__module__}.{function.__qualname__}".encode()
    else:
        yield from _parts(value if isinstance(value, Kernel) else function, seen)


def _code(code: types.CodeType) -> Iterator[bytes]:
    """What a function does, without where its lines are."""
    yield code.co_code
    yield repr((code.co_names, code.co_varnames, code.co_freevars)).encode()
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code(constant)
        else:
            yield repr(sorted(constant, key=repr) if isinstance(constant, frozenset) else constant).encode()
