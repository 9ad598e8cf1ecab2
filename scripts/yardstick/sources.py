"""Sources: the file that is compiled for an entry, and its options, in the folder of the checkouts."""

import pathlib
import re
import shlex
import zlib

from yardstick.manifest import Entry

OURS = pathlib.Path(__file__).parent
_RAW = re.compile(r'R"(\w*)\((.*?)\)\1"', re.S)


class MissingSource(FileNotFoundError):
    """A file of the manifest that the checkout does not have."""


def source(entry: Entry, corpus: pathlib.Path) -> pathlib.Path:
    """The file to compile: the checkout's, or one put together from several, which is kept beside them."""
    root = corpus / entry.suite
    files = [root / file for file in (*entry.before, entry.file)]
    for file in files:
        if not file.exists():
            raise MissingSource(f"{file} is not there; check out the suite's repository into {root}")
    if not (entry.before or entry.assembly):
        return files[-1]
    text = "\n".join(part(file, entry.assembly) for file in files)
    made = corpus / "assembled" / entry.suite / f"{zlib.crc32(text.encode()):08x}-{files[-1].stem}.cl"
    made.parent.mkdir(parents=True, exist_ok=True)
    if not made.exists():
        made.write_text(text)
    return made


def part(file: pathlib.Path, assembly: str) -> str:
    text = file.read_text(errors="replace")
    return strings(text) if assembly == "strings" else text


def strings(text: str) -> str:
    """The program in a file of C++ that is a string of one: `R"(...)"`, or the argument of a macro that makes one."""
    if raw := _RAW.findall(text):
        return "\n".join(found[1] for found in raw)
    if "MSTRINGIFY(" not in text:
        return text
    inner = text.split("MSTRINGIFY(", 1)[1].rstrip()
    inner = inner[: inner.rindex(")")]
    return re.sub(r"^\s*\\n", "", inner, flags=re.M).replace("\\n", "\n")


def options(entry: Entry, corpus: pathlib.Path) -> list[str]:
    """The options, with the folders that they name."""
    root = corpus / entry.suite
    folders = {"{here}": (root / entry.file).parent, "{root}": root, "{ours}": OURS}
    text = entry.options
    for name, folder in folders.items():
        text = text.replace(name, str(folder))
    return defined(shlex.split(text))


def defined(words: list[str]) -> list[str]:
    """The options with `-UX` carried out: it takes away the suite's `-DX`; OpenCL has no such option."""
    gone = {word[2:] for word in words if word.startswith("-U")}
    return [word for word in words if not word.startswith("-U") and word[2:].split("=")[0] not in gone]


def without_includes(words: list[str]) -> tuple[list[str], list[str]]:
    """The options without `-include file`, which OpenCL does not have, and those files."""
    rest, files = [], []
    left = iter(words)
    for word in left:
        if word == "-include":
            files.append(next(left))
        else:
            rest.append(word)
    return rest, files
