"""Exchange: findings in the forms that other tools read: annotations of GitHub's workflows, and SARIF."""

import collections
import dataclasses
import hashlib
import json
import os
import re
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from xeemu.faults import findings as kinds
from xeemu.faults.baseline import Fingerprint
from xeemu.faults.findings import ERROR, KINDS, Finding

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

RULES: Mapping[str, str] = {
    kinds.DATA_RACE: "Two work-items access an element, one of them writes, and nothing orders them.",
    kinds.UNINITIALIZED_READ: "Memory is read that nobody has written.",
    kinds.OUT_OF_BOUNDS: "An index lies outside its memory.",
    kinds.BARRIER_DIVERGENCE: "A part of a work-group reaches a barrier or a group algorithm.",
    kinds.WRONG_FENCE: "A barrier stands between two accesses and does not order this memory.",
    kinds.CROSS_ITEM: "An operation mixes work-items and is no group algorithm.",
    kinds.UNDEFINED_ARITHMETIC: "A division by zero or a shift by too much has a result that is used.",
    kinds.WRAPPED_INDEX: "The arithmetic of an index passes the end of its type.",
    kinds.ORDER_DEPENDENT: "A float sum by atomic operations depends on their order.",
    kinds.FORWARD_PROGRESS: "A loop waits for what other work-items write.",
    kinds.SUB_GROUP_SIZE: "The kernel is right at some sub-group sizes only, and requires none.",
    kinds.ABSENT_LANE: "A value is taken from a lane that does not exist.",
    kinds.MISALIGNED_BLOCK: "A block load or store begins at an address that devices do not take.",
    kinds.INVALID_FREE: "Memory is freed that was not allocated there.",
    kinds.USE_AFTER_FREE: "Memory is used after it was freed.",
    kinds.OVERLAPPING_COPY: "The source and the target of a copy overlap.",
    kinds.LEAK: "Memory is never freed.",
}
"""What findings of each kind are about."""


@dataclasses.dataclass(frozen=True)
class Refusal:
    """A kernel that could not be checked.

    Attributes:
      message: why, with the line if there is one.
    """

    message: str

    @property
    def place(self) -> tuple[str, int] | None:
        """The file and the line that the message names; None if it names none."""
        found = re.search(r"^ *at (.+):(\d+)", self.message, re.MULTILINE)
        return None if found is None else (os.path.abspath(found[1]), int(found[2]))


Told = Finding | Refusal


def annotations(told: Iterable[Told], failing: Sequence[Finding] = ()) -> str:
    """A line for each finding, as GitHub's workflows take them from the output of a step.

    Errors and refusals are errors there, notes for which the check fails are warnings, and other notes are notices.
    Source: GitHub, "Workflow commands for GitHub Actions", setting an error message.

    Args:
      told: what was found.
      failing: the findings for which the check fails.
    """
    return "\n".join(_annotation(one, _command(one, failing)) for one in told)


def _command(told: Told, failing: Sequence[Finding]) -> str:
    if isinstance(told, Refusal) or told.severity == ERROR:
        return "error"
    return "warning" if told in failing else "notice"


def _annotation(told: Told, command: str) -> str:
    title = "refused" if isinstance(told, Refusal) else told.kind
    properties = {"title": title}
    if (place := _place(told)) is not None:
        properties = {"file": _from_root(place[0]), "line": str(place[1]), **properties}
    named = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{command} {named}::{_data(_under_title(told))}"


def _place(told: Told) -> tuple[str, int] | None:
    """The file and the line of what is told, if it has some."""
    if isinstance(told, Refusal):
        return told.place
    return (told.sites[0].file, told.sites[0].line) if told.sites else None


def _under_title(told: Told) -> str:
    """The message without the severity and the kind, which stand beside it."""
    if isinstance(told, Refusal):
        return told.message
    return str(told).removeprefix(f"{told.severity}: {told.kind}").lstrip(": ")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def sarif(told: Sequence[Told], version: str) -> dict[str, Any]:
    """What was found as one run of a log of SARIF 2.1.0 (OASIS), ready for JSON."""
    rules = [{"id": kind, "shortDescription": {"text": RULES[kind]}} for kind in KINDS]
    driver = {"name": "xeemu", "version": version, "rules": rules}
    refused = [_notification(one) for one in told if isinstance(one, Refusal)]
    invocation = {"executionSuccessful": not refused, "toolExecutionNotifications": refused}
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": "xeemu/check/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": _results([one for one in told if isinstance(one, Finding)]),
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _notification(refusal: Refusal) -> dict[str, Any]:
    where = {} if refusal.place is None else {"locations": [_location(*refusal.place)]}
    return {"level": "error", "message": {"text": refusal.message}, **where}


def _results(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """A result for each finding; those that are known by the same are numbered."""
    seen: collections.Counter[str] = collections.Counter()
    found = []
    for finding in findings:
        seen[digest := _digest(finding)] += 1
        found.append(_result(finding, f"{digest}:{seen[digest]}"))
    return found


def _digest(finding: Finding) -> str:
    known = Fingerprint.of(finding)
    return hashlib.sha256(json.dumps([known.kind, known.memory, *known.sources]).encode()).hexdigest()


def _result(finding: Finding, fingerprint: str) -> dict[str, Any]:
    lines = (*finding.sites, *(site for site in finding.lines if site not in finding.sites))
    places = [_location(site.file, site.line, site.source) for site in lines]
    result = {
        "ruleId": finding.kind,
        "ruleIndex": KINDS.index(finding.kind),
        "level": "error" if finding.severity == ERROR else "note",
        "message": {"text": _under_title(finding)},
        "locations": places[:1],
        "partialFingerprints": {"finding/v1": fingerprint},
    }
    words = ("the other access", *["an access that the same barrier would order"] * len(places))
    related = [
        {"id": k, **place, "message": {"text": text}}
        for k, (place, text) in enumerate(zip(places[1:], words, strict=False), 1)
    ]
    return {**result, "relatedLocations": related} if related else result


def _location(file: str, line: int, source: str = "") -> dict[str, Any]:
    region = {"startLine": max(line, 1), **({"snippet": {"text": source}} if source else {})}
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(file)}, "region": region}}


def _uri(file: str) -> str:
    """A file as a reference of RFC 3986, from the root of the repository if it lies in there."""
    path = _from_root(file)
    return Path(path).as_uri() if Path(path).is_absolute() else urllib.parse.quote(path)


def _from_root(file: str) -> str:
    """The path of a file, from the root of the repository in which the program runs if it lies in there, with slashes.

    Without a repository, the folder in which the program runs stands for its root.
    """
    here = Path.cwd()
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    path = Path(file)
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()
