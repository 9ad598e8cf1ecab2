"""The pages of this repository: their programs, files and commands, each with the output that the page shows."""

import dataclasses
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = sorted(ROOT.glob("README.md")) + sorted(
    page for folder in ("xeemu", "kernels", "scripts") for page in (ROOT / folder).rglob("README.md")
)
_BLOCK = re.compile(r"^```(\S*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(r"(?:#|//) (\w+\.(?:py|cl|cpp))(, continued)?\n")


def name(page: Path) -> str:
    """Of a page, such as "xeemu/cost"."""
    return str(page.parent.relative_to(ROOT))


@dataclasses.dataclass(frozen=True)
class Block:
    """A block of code of a page.

    Attributes:
      language: what it is written in.
      text: what it says.
      output: the block of language "text" that comes next, if one does.
    """

    language: str
    text: str
    output: str | None


@dataclasses.dataclass
class Source:
    """A file that a page shows, in one block or several, and the output that follows the blocks."""

    text: str
    output: str = ""


def blocks(page: Path) -> list[Block]:
    """The blocks of code of a page."""
    found = _BLOCK.findall(page.read_text())
    following = [*found[1:], ("", "")]
    return [
        Block(language, text, after if kind == "text" else None)
        for (language, text), (kind, after) in zip(found, following, strict=False)
    ]


def sources(page: Path) -> dict[str, Source]:
    """The files that a page shows: blocks that begin with a comment of a name, and "continued" where they go on."""
    found: dict[str, Source] = {}
    for block in blocks(page):
        if named := _NAMED.match(block.text):
            file, continued = named[1], named[2] is not None
            assert (file in found) == continued, f"{file} of {page} is begun twice, or continued before"
            source = found.setdefault(file, Source(""))
            source.text += block.text
            source.output += block.output or ""
    return found


def commands(page: Path) -> list[tuple[str, str | None]]:
    """The commands `xeemu ...` that a page shows, without the name, and the output after those that stand alone."""
    found: list[tuple[str, str | None]] = []
    for block in blocks(page):
        if block.language == "bash":
            lines = re.findall(r"^xeemu (.*)$", block.text, re.MULTILINE)
            found += [(line, block.output if len(lines) == 1 else None) for line in lines]
    return found


def sessions(page: Path) -> str:
    """What a page shows of Python's prompt, one block after the other."""
    return "\n".join(block.text for block in blocks(page) if block.language == "python-console")
