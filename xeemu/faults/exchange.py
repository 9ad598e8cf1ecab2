"""Exchange: findings in the forms that other tools read: annotations of GitHub's workflows, and SARIF."""

import hashlib
import json
import os
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xeemu.faults.baseline import Mark
from xeemu.faults.findings import ERROR, KINDS, Finding
from xeemu.language.places import from_here
from xeemu.language.source import Site

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def annotations(findings: Sequence[Finding]) -> str:
    """A line for each finding, as GitHub's workflows take them from the output of a step.

    Source: GitHub, "Workflow commands for GitHub Actions", setting an error message.
    """
    return "\n".join(map(_annotation, findings))


def _annotation(finding: Finding) -> str:
    command = "error" if finding.severity == ERROR else "notice"
    properties = {"title": finding.kind}
    if finding.sites:
        properties = {"file": _relative(finding.sites[0]), "line": str(finding.sites[0].line), **properties}
    named = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{command} {named}::{_data(_under_title(finding))}"


def _under_title(finding: Finding) -> str:
    """The message without the severity and the kind, which the command and the title say."""
    return str(finding).removeprefix(f"{finding.severity}: {finding.kind}").lstrip(": ")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def sarif(findings: Sequence[Finding], version: str) -> dict[str, Any]:
    """The findings as one run of a log of SARIF 2.1.0 (OASIS), ready for JSON."""
    rules = [{"id": kind} for kind in KINDS]
    driver = {"name": "xeemu", "version": version, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": list(map(_result, findings))}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(finding: Finding) -> dict[str, Any]:
    places = list(map(_location, finding.sites))
    known = Mark.of(finding)
    digest = hashlib.sha256(json.dumps([known.kind, known.memory, *known.sources]).encode()).hexdigest()
    result = {
        "ruleId": finding.kind,
        "ruleIndex": KINDS.index(finding.kind),
        "level": "error" if finding.severity == ERROR else "note",
        "message": {"text": str(finding)},
        "locations": places[:1],
        "partialFingerprints": {"finding/v1": digest},
    }
    related = [{"id": k, **place, "message": {"text": "the other access"}} for k, place in enumerate(places[1:], 1)]
    return {**result, "relatedLocations": related} if related else result


def _location(site: Site) -> dict[str, Any]:
    region = {"startLine": max(site.line, 1), **({"snippet": {"text": site.source}} if site.source else {})}
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(site)}, "region": region}}


def _uri(site: Site) -> str:
    """The file of a line as a reference of RFC 3986, from the folder in which the program runs if it lies in there."""
    path = _relative(site)
    return Path(path).as_uri() if Path(path).is_absolute() else urllib.parse.quote(path)


def _relative(site: Site) -> str:
    """The path of a line's file, from the folder in which the program runs if it lies in there, with slashes."""
    return Path(from_here(site.file)).as_posix().replace(os.sep, "/")
