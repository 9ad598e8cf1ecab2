"""What a command line names: an example of the collection, or an example or a kernel of the user's own file."""

import argparse
import dataclasses
import importlib
import importlib.util
import inspect
import os
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import xeemu as xe
from xeemu import kernels
from xeemu.commands import notation, rules, submissions
from xeemu.commands.notation import UsageError
from xeemu.errors import did_you_mean
from xeemu.frontends.collection import Kernels
from xeemu.kernels.example import Example


@dataclasses.dataclass(frozen=True)
class KernelOptions:
    """What the command line says about the launch of a bare kernel: sizes, and `NAME=VALUE` texts.

    `shapes_only`: true if the arguments' shapes will do. `build`, `std`: options and language of
    OpenCL's compiler.
    """

    global_size: tuple[int, ...] | None = None
    local_size: tuple[int, ...] | None = None
    arguments: Sequence[str] = ()
    static: Sequence[str] = ()
    shapes_only: bool = False
    build: str = ""
    std: str | None = None

    @property
    def given(self) -> tuple[str, ...]:
        """The options that are there, as the user wrote them."""
        options = {
            "--global-size": self.global_size,
            "--local-size": self.local_size,
            "--arg": self.arguments,
            "--static": self.static,
            "--options": self.build,
            "--std": self.std,
        }
        return tuple(option for option, value in options.items() if value)


@dataclasses.dataclass(frozen=True)
class SweepOptions(KernelOptions):
    """Options of a kernel for a sweep, whose sizes and static parameters an example takes as well."""

    @property
    def given(self) -> tuple[str, ...]:
        return ("--arg",) if self.arguments else ()


@dataclasses.dataclass(frozen=True)
class RunTarget:
    """What to run.

    Attributes:
      example: the kernel with its launch; a bare kernel's has no reference.
      bare: true if it was a kernel alone.
      origins: where arguments come from that the command line does not give; empty where it or the example gives all.
    """

    example: Example
    bare: bool
    origins: str = ""


def of_words(given: argparse.Namespace, shapes_only: bool = False) -> RunTarget:
    """What a parsed command line names, with the launch that it describes."""
    return named(given, options(given, shapes_only))


def named(given: argparse.Namespace, options: KernelOptions) -> RunTarget:
    """What a parsed command line names, launched as the options say."""
    if given.name is None:
        every = ", or write --all" if hasattr(given, "all") else ""
        raise UsageError(f"name an example (xeemu kernels lists them) or path.py:NAME{every}")
    return find(given.name, given.size, options)


def options(given: argparse.Namespace, shapes_only: bool = False) -> KernelOptions:
    """What a parsed command line says about the launch of a bare kernel."""
    return KernelOptions(
        given.global_size,
        given.local_size,
        tuple(given.arg),
        tuple(given.static),
        shapes_only,
        given.options,
        given.std,
    )


def find(name: str, size: Sequence[int] | None, options: KernelOptions) -> RunTarget:
    """What `name` stands for: the name of an example, `path.py:NAME`, `path.cl:NAME` or `path.cpp:NAME`.

    Args:
      name: as on the command line.
      size: the --size option, which a bare kernel does not have.
      options: the launch of a bare kernel.

    Raises:
      UsageError: there is no such file or name, or the options do not fit what it is.
      xe.Error: there is no such example, or an error of the file's own.
    """
    if (submitted := _SYCL.fullmatch(name)) is not None:
        if size is not None:
            raise UsageError(f"{name} is a kernel, which has no --size: write --global and --local")
        of = submissions.launch(submitted[1], submitted[2] or "", options)
        return RunTarget(_bare(of.kernel, of.nd_range, of.inputs, {}), bare=True, origins=of.origins)
    path, _, attribute = name.rpartition(":") if not name.endswith((".py", *_OPENCL)) else (name, "", "")
    if path.endswith(_OPENCL):
        return RunTarget(_of_source(path, attribute, size, options), bare=True)
    if options.build or options.std:
        raise UsageError(f"{name} is no OpenCL C or SYCL C++, which --options and --std are for; leave them out")
    found = _attribute(Path(path), attribute) if path else kernels.example(name)
    if isinstance(found, xe.Kernel):
        if size is not None:
            raise UsageError(f"{name} is a kernel, which has no --size: write --global-size and --local-size")
        return RunTarget(_of_kernel(name, found, options), bare=True)
    if options.given:
        raise UsageError(f"{name} is an example, with a launch of its own: leave out {', '.join(options.given)}")
    return RunTarget(found, bare=False)


# How files of OpenCL C are called.
_OPENCL = (".cl", ".ocl", ".opencl", ".clc")
# A file of SYCL C++, and a kernel of it, in whose name there may be a colon.
_SYCL = re.compile(r"(.*?\.(?:cpp|cc|cxx|c\+\+|hpp|hxx|sycl))(?::(?!\\)(.*))?", re.IGNORECASE)


def _of_source(path: str, name: str, size: Sequence[int] | None, options: KernelOptions) -> Example:
    """A kernel of OpenCL C with the launch that the options describe."""
    loaded = xe.load(path, options.build, std=options.std)
    assert isinstance(loaded, Kernels)
    if not name and len(loaded) != 1:
        raise UsageError(f"write {path}:NAME with one of {', '.join(loaded) or 'its kernels, of which it has none'}")
    kernel = loaded[name or next(iter(loaded))]
    if size is not None:
        raise UsageError(f"{kernel.name} is a kernel, which has no --size: write --global and --local")
    if options.static:
        raise UsageError(f"{kernel.name} has no static parameters; write -D{options.static[0]} in --options")
    missing = f"write the sizes of {kernel.name}, dimension 0 first, such as --global 4096 --local 64"
    global_size = _global_size(options, missing)
    nd_range = xe.NDRange.opencl(global_size, options.local_size)
    given = rules.arguments(loaded.parameters(kernel.name), options.arguments, options.shapes_only)
    return _bare(kernel, nd_range, given, {})


def _global_size(options: KernelOptions, missing: str) -> Sequence[int]:
    """The global size that the options tell; there is a message for where they tell none."""
    if options.global_size is None:
        raise UsageError(missing)
    if min(options.global_size) < 1:
        given, such = ("x".join(map(str, sizes)) for sizes in (options.global_size, [64] * len(options.global_size)))
        raise UsageError(f"--global-size {given}: sizes are numbers from 1, such as --global-size {such}")
    return options.global_size


def _of_kernel(name: str, kernel: xe.Kernel, options: KernelOptions) -> Example:
    """A bare kernel with the launch that the options describe."""
    missing = f"{name} is a kernel: write its sizes, such as --global-size 4096 --local-size 64"
    global_size = _global_size(options, missing)
    nd_range = xe.NDRange(global_size, options.local_size)
    written = (notation.argument(text, k, options.shapes_only) for k, text in enumerate(options.arguments))
    given = notation.once("--arg", written)
    _check_names(kernel, given)
    inputs = tuple(given[parameter] for parameter in kernel.parameters)
    return _bare(kernel, nd_range, inputs, notation.once("--static", map(notation.static, options.static)))


def _bare(kernel: xe.Kernel, nd_range: xe.NDRange, inputs: tuple[Any, ...], static: Mapping[str, Any]) -> Example:
    return Example(
        name=kernel.name,
        summary=kernel.summary,
        kernel=kernel,
        size=nd_range.global_size,
        size_names=_size_names(nd_range.dimensions),
        nd_range=lambda size: nd_range,
        inputs=lambda size: inputs,
        reference=None,
        work=lambda size: nd_range.size,
        unit="work-items",
        static=static,
    )


def _size_names(dimensions: int) -> tuple[str, ...]:
    return ("work-items",) if dimensions == 1 else tuple(f"dimension {d}" for d in range(dimensions))


def _check_names(kernel: xe.Kernel, given: Sequence[str] | dict[str, object]) -> None:
    wanted = kernel.parameters
    if unknown := [parameter for parameter in given if parameter not in wanted]:
        raise UsageError(
            f"kernel {kernel.name} has no parameter {', '.join(unknown)}{did_you_mean(unknown[0], wanted)}; it takes "
            f"{', '.join(wanted)}, and static parameters go with --static"
        )
    if missing := [parameter for parameter in wanted if parameter not in given]:
        raise UsageError(
            f"kernel {kernel.name} takes {', '.join(wanted)}; write also "
            + " ".join(f"--arg {parameter}=float32[1024]" for parameter in missing)
            + ", with the dtype and the shape of yours"
        )


def _attribute(path: Path, attribute: str) -> Example | xe.Kernel:
    """The example or the kernel of that name in a user's file."""
    module = _load(path)
    usable = _usable(module)
    if attribute in usable:
        return usable[attribute]
    if not usable:
        raise UsageError(f"{path} has neither kernels nor examples; decorate a function with @xe.kernel")
    choice = f"write {path}:NAME with one of {', '.join(usable)}"
    if attribute and hasattr(module, attribute):
        kind = type(getattr(module, attribute)).__name__
        raise UsageError(f"{attribute} in {path} is a {kind}, neither a kernel nor an example; {choice}")
    meant = did_you_mean(attribute, list(usable))
    raise UsageError(f"{path} has no {attribute!r}{meant}; {choice}" if attribute else choice)


def _usable(module: ModuleType) -> dict[str, Example | xe.Kernel]:
    return {key: value for key, value in vars(module).items() if isinstance(value, Example | xe.Kernel)}


def listed(path: str, build: str = "", std: str | None = None) -> str:
    """The kernels of a file, and its examples, as text."""
    if path.endswith(_OPENCL) or _SYCL.fullmatch(path) is not None:
        return repr(xe.load(path, build, std=std))
    usable = _usable(_load(Path(path)))
    heads = [
        f"  {name}{_parameters(value)}: {value}" if isinstance(value, xe.Kernel) else f"  {name}: {value.summary}"
        for name, value in usable.items()
    ]
    what = "kernels and examples" if len(heads) != 1 else "kernel or example"
    return "\n".join([f"{path}: {len(heads)} {what}", *heads])


def _parameters(kernel: xe.Kernel) -> inspect.Signature:
    """The parameters of a kernel's function; what they are annotated with, classes of xeemu, tells nothing of them."""
    parameters = inspect.signature(kernel.function).parameters.values()
    return inspect.Signature([parameter.replace(annotation=parameter.empty) for parameter in parameters])


def _load(path: Path) -> ModuleType:
    """The module of a file, or of the name of a module.

    What it imports is looked for in the file's folder, as Python does for a script, and in the folder in which the
    program runs; a file of a package is a module of that.
    """
    name = str(path) if not path.exists() and re.fullmatch(r"\w+(\.\w+)*", str(path)) else None
    if name is None and not path.is_file():
        raise UsageError(f"there is no file {path}; write the path of a Python file, a colon and a name")
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name) if name is not None else _of_file(path.resolve(), path)
    except xe.Error:
        raise
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and name is not None and name.startswith(error.name or " "):
            raise UsageError(f"there is no file {name} and no module {error.name}; write path.py:NAME") from None
        lines = traceback.extract_tb(error.__traceback__)
        users = [line.lineno for line in lines if line.filename == str(path.resolve())]
        where = f"\n  at {path}:{users[-1]}" if users else ""
        raise UsageError(f"{path} cannot be loaded: {type(error).__name__}: {error}{where}") from error


def _of_file(file: Path, path: Path) -> ModuleType:
    """The module of a file; `path` is how the user wrote it."""
    top = file.parent
    while (top / "__init__.py").is_file():
        top = top.parent
    if top != file.parent:
        sys.path.insert(0, str(top))
        return importlib.import_module(".".join(file.relative_to(top).with_suffix("").parts))
    spec = importlib.util.spec_from_file_location(f"_xeemu_file_{path.stem}", file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file; its name should end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(file.parent))
    spec.loader.exec_module(module)
    return module
