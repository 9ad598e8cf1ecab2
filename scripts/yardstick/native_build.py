"""Native build: SimSYCL's library, an implementation of SYCL 2020 for the processor, from its checkout.

Its sources are copied into `simsycl-build` beside the checkout, with four lines of ours that let a program keep what
its memories hold in the end (stand-ins/native/contents.hpp). What it needs beside a compiler of C++20:

    apt-get install g++ libboost-context-dev nlohmann-json3-dev libfmt-dev
"""

import dataclasses
import pathlib
import shutil
import subprocess

from yardstick import sources

STANDARD = ("-std=c++20", "-O1", "-w", "-fpermissive")
_OURS = sources.OURS / "stand-ins" / "native"
_PATTERN = "inline constexpr std::byte uninitialized_memory_pattern = std::byte(0xff);"
_CHANGES = {
    "include/simsycl/detail/allocation.hh": (
        ("#pragma once", "#pragma once\n#include <contents.hpp>"),
        (_PATTERN, "inline const std::byte uninitialized_memory_pattern = xeemu::pattern();"),
    ),
    "include/simsycl/sycl/buffer.hh": (
        ("        if(write_back_on_destruction.with(lock))", "        xeemu::kept(data, range.size() * sizeof(T));\n"),
    ),
    "src/simsycl/system.cc": (
        ("    if(bytes_free != nullptr) {", "    xeemu::begun(ptr, size_bytes);\n"),
        ("    detail::aligned_free(ptr);", "    xeemu::ended(ptr);\n"),
    ),
}
"""Texts of SimSYCL, and what stands before them in the copy; in place of them in the first file."""

_SETTINGS = """#pragma once
#define SIMSYCL_VERSION "0.1"
#define SIMSYCL_VERSION_MAJOR 0
#define SIMSYCL_VERSION_MINOR 1
#define SIMSYCL_VERSION_PATCH 0
#define SIMSYCL_ANNOTATE_SYCL_DEPRECATIONS 0
#define SIMSYCL_FEATURE_HALF_TYPE 1
#define SIMSYCL_ENABLE_SYCL_KHR_QUEUE_FLUSH 1
#ifndef SIMSYCL_CHECK_MODE
#define SIMSYCL_CHECK_MODE SIMSYCL_CHECK_ABORT
#endif
"""

_WRITER = """#include <simsycl/system.hh>
int main() { simsycl::write_system_config("%s", simsycl::builtin_system); }
"""


class NoSimSYCL(RuntimeError):
    """SimSYCL is not there, or cannot be built."""


@dataclasses.dataclass(frozen=True)
class Build:
    """Where SimSYCL was built."""

    folder: pathlib.Path

    @property
    def archive(self) -> pathlib.Path:
        """SimSYCL, compiled, to link programs with."""
        return self.folder / "libsimsycl.a"

    @property
    def system(self) -> pathlib.Path:
        """SimSYCL's description of the system that it models."""
        return self.folder / "system.json"

    @property
    def flags(self) -> list[str]:
        """The options with which programs are compiled."""
        includes = [f"-I{self.folder / 'include'}", f"-I{_OURS}"]
        return [*STANDARD, *includes, "-include", str(self.folder / "prelude.hpp")]

    @property
    def libraries(self) -> list[str]:
        return [str(self.archive), "-lboost_context", "-lfmt", "-lpthread"]


def built(corpus: pathlib.Path) -> Build:
    """SimSYCL's library, built where it is not.

    Raises:
      NoSimSYCL: there is no checkout, or the compiler fails.
    """
    build = Build(corpus / "simsycl-build")
    if not build.archive.exists():
        if not (corpus / "simsycl").is_dir():
            raise NoSimSYCL(f"{corpus / 'simsycl'} is not there; check out celerity/SimSYCL into it")
        copied(corpus / "simsycl", build.folder)
        compiled(build)
    return build


def copied(checkout: pathlib.Path, folder: pathlib.Path) -> None:
    """The sources, with our lines."""
    for part in ("include", "src"):
        shutil.copytree(checkout / part, folder / part, dirs_exist_ok=True)
    (folder / "include" / "simsycl" / "config.hh").write_text(_SETTINGS)
    for file, changes in _CHANGES.items():
        path = folder / file
        text = path.read_text()
        for old, new in changes:
            if text.count(old) != 1:
                raise NoSimSYCL(f"{path} has {text.count(old)} times, not once: {old.strip()}")
            text = text.replace(old, new if file.endswith("allocation.hh") else new + old)
        path.write_text(text)


def compiled(build: Build) -> None:
    """The library, the headers compiled beforehand, and the description of the system that SimSYCL models."""
    folder = build.folder
    objects = folder / "objects"
    objects.mkdir(exist_ok=True)
    includes = [f"-I{folder / 'include'}", f"-I{_OURS}"]
    made = []
    for path in sorted((folder / "src" / "simsycl").glob("*.cc")):
        made.append(objects / f"{path.stem}.o")
        ran(["g++", *STANDARD, *includes, "-c", str(path), "-o", str(made[-1])])
    shutil.copy(_OURS / "prelude.hpp", folder)
    header = folder / "prelude.hpp"
    ran(["g++", *STANDARD, *includes, "-x", "c++-header", str(header), "-o", f"{header}.gch"])
    ran(["ar", "rcs", str(build.archive), *map(str, made)])
    writer = folder / "system.cpp"
    writer.write_text(_WRITER % build.system)
    ran(["g++", *build.flags, str(writer), "-o", str(folder / "system"), *build.libraries])
    ran([str(folder / "system")])


def ran(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
        raise NoSimSYCL(f"{' '.join(command[:1] + command[-3:])} fails: {first}")
