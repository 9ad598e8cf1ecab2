"""Labels: what the tests of GPUVerify and Oclgrind expect, and whether findings agree with it."""

import dataclasses
import math
import pathlib
import re
from collections.abc import Collection, Sequence

SYMBOLIC = 64  # for a size that a test of GPUVerify leaves open
ERRORS = {"race": {"data-race", "wrong-fence"}, "divergence": {"barrier-divergence"}, "bounds": {"out-of-bounds"}}
_MESSAGES = {
    "data race": "race",
    "Uninitialized": "uninitialized",
    "Invalid read": "bounds",
    "Invalid write": "bounds",
    "exceeds static": "bounds",
    "divergence": "divergence",
}
# Tests of GPUVerify that must fail and do not say how: what is wrong with them, by reading.
_BY_READING = {
    "race": (
        *(f"async_work_group_copy/fail/test{k}" for k in (1, 2, 4, 5, 10, 13, 14)),
        "atomics/forloop",
        "atomics/refined_atomic_abstraction/bad_local_counters",
        "atomics/refined_atomic_abstraction/predication",
        "misc/fail/miscfail1",
        "misc/fail/miscfail3",
        "misc/fail/miscfail9",
        "test_for_benign_read_write_bug",
        "warpsync/broken_shuffle",
    ),
    "divergence": (
        *(f"async_work_group_copy/fail/test{k}" for k in (6, 7, 9, 11, 12)),
        "barrier_intervals/test2",
    ),
    "bounds": tuple(f"async_work_group_copy/fail/test{k}" for k in (15, 16, 17, 18)),  # null pointers are used
}
_KINDS = {"uninitialized": {"uninitialized-read"}} | ERRORS


@dataclasses.dataclass(frozen=True)
class Told:
    """What a test says of itself.

    Attributes:
      expect: `"clean"`, `"race"`, `"divergence"`, `"bounds"`, several of those after one another, `"refused"` for a
        source with an error, or `"runs"` where what is expected is no kind of finding.
    """

    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    expect: str
    options: str = ""
    arguments: tuple[str, ...] = ()


# --- GPUVerify ---


def gpuverify(text: str, folder: str = "") -> Told | None:
    """The label of a test, from its first comment lines; None where it gives no size.

    Args:
      folder: of the test, as it ends; some are labelled by reading.
    """
    lines = text.replace("\r", "").split("\n")
    comments = []
    for line in lines:
        if not line.startswith("//"):
            break
        comments.append(line.removeprefix("//").strip())
    if len(comments) < 2:
        return None
    local, whole = sizes(comments[1])
    if not local or not whole:
        return None
    options = " ".join(re.findall(r"-[DI]\s*\S+", comments[1])).replace("-D ", "-D").replace("-I ", "-I")
    options = options.replace("${KERNEL_DIR}", "{here}")
    read = [label for label, folders in _BY_READING.items() if folder and folder.endswith(folders)]
    return Told(whole, local, read[0] if read else expected(comments[0], comments[2:]), options)


def sizes(command: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The local and the global size of a command line, empty where it has none."""
    local, groups, whole = (numbers(command, f"--{what}=") for what in ("local_size", "num_groups", "global_size"))
    dimensions = max(len(local), len(groups), len(whole))
    local += (1,) * (dimensions - len(local)) if local else ()
    if groups:
        groups += (1,) * (dimensions - len(groups))
        whole = tuple(g * n for g, n in zip(groups, local, strict=False))
    return local, whole


def numbers(command: str, what: str) -> tuple[int, ...]:
    found = re.search(re.escape(what) + r"\[?([\d,xXa-fA-F*]+)\]?", command)
    if not found:
        return ()
    return tuple(SYMBOLIC if n == "*" else int(n, 0) for n in found[1].strip(",").split(","))


def expected(outcome: str, patterns: Sequence[str]) -> str:
    """The kind that an outcome stands for; the patterns are what GPUVerify's message must match."""
    if outcome.lower() == "pass":
        return "clean"
    if "CLANG_ERROR" in outcome:
        return "refused"
    if "NOT_ALL_VERIFIED" not in outcome:
        return "runs"
    text = " ".join(patterns)
    if re.search(r"race|(Read|Write|Atomic) by work item", text):
        return "race"
    if re.search(r"barrier may|divergen|non-uniform", text):
        return "divergence"
    if re.search(r"bounds|null pointer access", text):
        return "bounds"
    return "runs"


# --- Oclgrind ---


def oclgrind(sim: pathlib.Path, parameters: Sequence[tuple[str, str]], kernel: str) -> Told | None:
    """A test's description in its .sim file; None if it is not of that kernel.

    Args:
      parameters: their memory spaces and element types.
    """
    if not sim.exists():
        return None
    head, *rest = re.sub(r"#.*", "", sim.read_text()).split("<", 1)
    _, name, *numbers = head.split()
    if name != kernel:
        return None
    whole, local = tuple(map(int, numbers[:3])), tuple(map(int, numbers[3:6]))
    dimensions = max([k + 1 for k in range(3) if whole[k] > 1 or local[k] > 1] or [1])
    described = re.findall(r"<([^>]*)>([^<]*)", "<" + rest[0]) if rest else []
    pairs = zip(parameters, described, strict=True)
    arguments = tuple(
        simulated(space, element, words.split(), data.split()) for (space, element), (words, data) in pairs
    )
    return Told(whole[:dimensions], local[:dimensions], expected_errors(sim.with_suffix(".ref")), arguments=arguments)


def simulated(space: str, element: str, words: Sequence[str], data: Sequence[str]) -> str:
    """One argument of a .sim file in our words."""
    told = {word.split("=")[0]: word.partition("=")[2] for word in words}
    if "null" in told:
        return "null"
    size = int(told["size"])
    if space == "local":
        return f"local {size}"
    scalar = next((w for w in told if w in _SIZES), None) or base(element)
    count = size // _SIZES[scalar]
    if "fill" in told:
        numbers = f"full {count} {told['fill']}"
    elif "range" in told:
        start, step, _ = told["range"].split(":")
        numbers = f"ramp {count} {start} {step}"
    elif "noinit" in told:
        numbers = f"zeros {count}"
    else:
        decimal = [str(int(x, 16)) if "hex" in told else x for x in data]
        numbers = "list " + " ".join(decimal)
    if space:
        return f"{scalar} {numbers}"
    if element.startswith("{") and "char" in told:
        return f"{element} bytes {' '.join(numbers.split()[1:])}"
    return f"{element} = {told['fill'] if 'fill' in told else ' '.join(numbers.split()[1:])}"


_SIZES = {
    "char": 1,
    "uchar": 1,
    "short": 2,
    "ushort": 2,
    "int": 4,
    "uint": 4,
    "long": 8,
    "ulong": 8,
    "float": 4,
    "double": 8,
}


def base(element: str) -> str:
    """The scalar that an element is read as: of a record, its first field's."""
    name = re.sub(r"^\{(packed,)?", "", element).split()[0].rstrip("0123456789") if element.startswith("{") else element
    return name.rstrip("0123456789")


def expected_errors(ref: pathlib.Path) -> str:
    text = ref.read_text() if ref.exists() else ""
    errors = [line for line in text.splitlines() if line.startswith("ERROR")]
    errors = [line for line in errors if "-only buffer" not in line]  # no flag of a buffer is among the arguments
    kinds = {kind for line in errors for message, kind in _MESSAGES.items() if message in line}
    if "bounds" in kinds:
        kinds.discard("uninitialized")  # what is loaded out of bounds is called so, too
    if "ERROR" in text and not kinds:
        return "runs"
    return " ".join(sorted(kinds)) or "clean"


def expected_values(ref: pathlib.Path, names: Sequence[str]) -> tuple[str, ...]:
    """Lines `position index value` of what a .ref file expects exactly."""
    text = ref.read_text() if ref.exists() else ""
    found = re.findall(r"^EXACT\s+(\w+)\[(\d+)\] = (\S+)", text, re.M)
    return tuple(f"{names.index(name)} {index} {number}" for name, index, number in found if name in names)


# --- Judging ---


def judged(expect: str, findings: Collection[str], suite: str = "") -> str:
    """How the kinds of the errors found stand to a label: `"agrees"`, `"missed"`, `"false alarm"` or `"other kind"`.

    A clean kernel of GPUVerify is one without races and divergences: bounds are not asked for, inputs are made up.
    """
    found = set(findings)
    if expect in ("", "runs", "refused"):
        return "runs"
    if suite == "gpuverify" and expect != "bounds":
        found -= {"out-of-bounds", "uninitialized-read"}
    if expect == "clean":
        return "false alarm" if found else "agrees"
    wanted = [_KINDS[kind] for kind in expect.split()]
    if all(found & kinds for kinds in wanted):
        return "agrees"
    return "other kind" if found else "missed"


def same_number(got: float, wanted: str) -> bool:
    """True if a result is what a .ref file says, which has some digits of it."""
    number = float(int(wanted, 16)) if wanted.lower().startswith("0x") else float(wanted)
    return math.isclose(float(got), number, rel_tol=1e-5, abs_tol=1e-5) or (math.isnan(number) and math.isnan(got))
