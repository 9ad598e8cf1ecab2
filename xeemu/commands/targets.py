"""What a command line names: an example of the collection, or an example or a kernel of the user's own file."""

import dataclasses
import importlib.util
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import xeemu as xe
from xeemu import kernels
from xeemu.commands import notation
from xeemu.commands.notation import UsageError
from xeemu.kernels.example import Example


@dataclasses.dataclass(frozen=True)
class KernelOptions:
    """What the command line says about the launch of a bare kernel: sizes, and `NAME=VALUE` texts.

    `shapes_only`: whether the arguments' shapes will do.
    """

    global_size: tuple[int, ...] | None = None
    local_size: tuple[int, ...] | None = None
    arguments: Sequence[str] = ()
    static: Sequence[str] = ()
    shapes_only: bool = False

    @property
    def given(self) -> tuple[str, ...]:
        """The options that are there, as the user wrote them."""
        options = {
            "--global-size": self.global_size,
            "--local-size": self.local_size,
            "--arg": self.arguments,
            "--static": self.static,
        }
        return tuple(option for option, value in options.items() if value)


@dataclasses.dataclass(frozen=True)
class SweepOptions(KernelOptions):
    """The same of a sweep, whose sizes and static parameters an example takes as well."""

    @property
    def given(self) -> tuple[str, ...]:
        return ("--arg",) if self.arguments else ()


@dataclasses.dataclass(frozen=True)
class Target:
    """What to run.

    Attributes:
      example: the kernel with its launch; a bare kernel's has no reference.
      bare: whether it was a kernel alone.
    """

    example: Example
    bare: bool


def find(name: str, size: Sequence[int] | None, options: KernelOptions) -> Target:
    """What `name` stands for: the name of an example, or `path.py:NAME`.

    Args:
      name: as on the command line.
      size: the --size option, which a bare kernel does not have.
      options: the launch of a bare kernel.

    Raises:
      UsageError: there is no such file or name, or the options do not fit what it is.
      xe.Error: there is no such example, or an error of the file's own.
    """
    path, _, attribute = name.rpartition(":") if not name.endswith(".py") else (name, "", "")
    found = _attribute(Path(path), attribute) if path else kernels.example(name)
    if isinstance(found, xe.Kernel):
        if size is not None:
            raise UsageError(f"{name} is a kernel, which has no --size: write --global-size and --local-size")
        return Target(_of_kernel(name, found, options), bare=True)
    if options.given:
        raise UsageError(f"{name} is an example, with a launch of its own: leave out {', '.join(options.given)}")
    return Target(found, bare=False)


def _of_kernel(name: str, kernel: xe.Kernel, options: KernelOptions) -> Example:
    """A bare kernel with the launch that the options describe."""
    if options.global_size is None or min(options.global_size) < 1:
        raise UsageError(f"{name} is a kernel: write its sizes, from 1, such as --global-size 4096 --local-size 64")
    nd_range = xe.NDRange(options.global_size, options.local_size)
    given = dict(notation.argument(text, k, options.shapes_only) for k, text in enumerate(options.arguments))
    _check_names(kernel, given)
    inputs = tuple(given[parameter] for parameter in kernel.parameters)
    return Example(
        name=kernel.name,
        summary=kernel.summary,
        kernel=kernel,
        size=options.global_size,
        size_names=("work-items",) * nd_range.dimensions,
        nd_range=lambda size: nd_range,
        inputs=lambda size: inputs,
        reference=None,
        work=lambda size: nd_range.size,
        unit="work-items",
        static=dict(map(notation.static, options.static)),
    )


def _check_names(kernel: xe.Kernel, given: Sequence[str] | dict[str, object]) -> None:
    wanted = kernel.parameters
    if missing := [parameter for parameter in wanted if parameter not in given]:
        raise UsageError(
            f"kernel {kernel.name} takes {', '.join(wanted)}; write also "
            + " ".join(f"--arg {parameter}=float32[1024]" for parameter in missing)
            + ", with the dtype and the shape of yours"
        )
    if unknown := [parameter for parameter in given if parameter not in wanted]:
        raise UsageError(
            f"kernel {kernel.name} has no parameter {', '.join(unknown)}; it takes {', '.join(wanted)}, and static "
            "parameters go with --static"
        )


def _attribute(path: Path, attribute: str) -> Example | xe.Kernel:
    """The example or the kernel of that name in a user's file."""
    module = _load(path)
    usable = {key: value for key, value in vars(module).items() if isinstance(value, Example | xe.Kernel)}
    if attribute in usable:
        return usable[attribute]
    if not usable:
        raise UsageError(f"{path} has neither kernels nor examples; decorate a function with @xe.kernel")
    choice = f"write {path}:NAME with one of {', '.join(usable)}"
    if attribute and hasattr(module, attribute):
        kind = type(getattr(module, attribute)).__name__
        raise UsageError(f"{attribute} in {path} is a {kind}, neither a kernel nor an example; {choice}")
    raise UsageError(f"{path} has no {attribute!r}; {choice}" if attribute else choice)


def _load(path: Path) -> ModuleType:
    """The module of a file, with the file's folder on the path for its own imports, as Python runs a script."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}; write the path of a Python file, a colon and a name")
    file = path.resolve()
    spec = importlib.util.spec_from_file_location(f"_xeemu_file_{path.stem}", file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file; its name should end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    except xe.Error:
        raise
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
        where = f"\n  at {path}:{lines[-1]}" if lines else ""
        raise UsageError(f"{path} cannot be loaded: {type(error).__name__}: {error}{where}") from error
    return module
