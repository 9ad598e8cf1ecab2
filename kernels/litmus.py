"""Litmus tests: the seeds' program that may print "0 2", its repairs, and the classics of the literature.

A `Known` is a test with an outcome, the verdict on it, and where that verdict is from. The families (`message_passing`
and so on) give a classic in other orders and scopes.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from xeemu.errors import KernelArgumentError, did_you_mean
from xeemu.memory_model.litmus import Litmus, litmus
from xeemu.memory_model.statements import Position, Statement

ALLOWED, FORBIDDEN, UNDEFINED = "allowed", "forbidden", "undefined"

RACES, ORDER, FENCES = "C++17 [intro.races]", "C++17 [atomics.order]", "C++17 [atomics.fences]"
SCOPE = "SYCL 2020, section 3.8.3.2 (memory scope), as OpenCL 2.0's inclusive scopes"
BARRIER = "SYCL 2020, section 4.17.3 (group_barrier)"
RC11 = "Lahav et al., Repairing Sequential Consistency in C/C++11, PLDI 2017"
P0668 = "P0668 (C++20 [atomics.order])"
SEED = "Using Local Memory (the seeds)"

Positions = str | Sequence[Position | tuple[int, int, int]]
Program = Sequence[Statement]

x, y, z = (litmus.location(name) for name in "xyz")


@dataclasses.dataclass(frozen=True)
class Known:
    """A litmus test whose verdict is known.

    Attributes:
      name: what the command line calls it.
      summary: one line.
      test: the program.
      outcome: values of registers and locations that are asked for.
      verdict: `"allowed"`, `"forbidden"`, or `"undefined"` for a program with a data race.
      source: where the verdict is from.
    """

    name: str
    summary: str
    test: Litmus
    outcome: Mapping[str, int]
    verdict: str
    source: str

    @property
    def found(self) -> str:
        """The verdict of xeemu's model."""
        if self.test.undefined:
            return UNDEFINED
        return ALLOWED if self.test.allowed(**self.outcome) else FORBIDDEN


def _fenced(first: Statement, order: str, then: Statement, scope: str = "device") -> Program:
    """Two statements with a fence in between; none for an empty order."""
    return [first, *([litmus.fence(order=order, scope=scope)] if order else []), then]


def message_passing(
    store: str = "relaxed",
    load: str = "relaxed",
    before: str = "",
    after: str = "",
    scope: str = "device",
    positions: Positions = "device",
    fence_scope: str = "device",
) -> Litmus:
    """MP: data, then a flag; the flag, then the data. `before` and `after` are the orders of fences in between."""
    return litmus(
        "MP",
        [
            _fenced(x.atomic.store(1, scope=scope), before, y.atomic.store(1, store, scope), fence_scope),
            _fenced(y.atomic.load("r0", load, scope), after, x.atomic.load("r1", scope=scope), fence_scope),
        ],
        positions,
    )


def store_buffering(
    store: str = "relaxed",
    load: str = "relaxed",
    fences: tuple[str, str] = ("", ""),
    fence_scope: str = "device",
    positions: Positions = "device",
) -> Litmus:
    """SB: each stores to one location and loads the other's."""
    return litmus(
        "SB",
        [
            _fenced(x.atomic.store(1, store), fences[0], y.atomic.load("r0", load), fence_scope),
            _fenced(y.atomic.store(1, store), fences[1], x.atomic.load("r1", load), fence_scope),
        ],
        positions,
    )


def load_buffering(
    load: str = "relaxed", store: str = "relaxed", fence: str = "", values: Sequence[int | str] = (1, 1)
) -> Litmus:
    """LB: each loads one location and stores to the other; a register as value is a data dependency."""
    return litmus(
        "LB",
        [
            _fenced(x.atomic.load("r0", load), fence, y.atomic.store(values[0], store)),
            _fenced(y.atomic.load("r1", load), fence, x.atomic.store(values[1], store)),
        ],
    )


def independent_reads(store: str = "relaxed", first: str = "relaxed", then: str = "", fence: str = "") -> Litmus:
    """IRIW: two writers, and two readers that may see them in opposite order."""
    return litmus(
        "IRIW",
        [
            [x.atomic.store(1, store)],
            [y.atomic.store(1, store)],
            _fenced(x.atomic.load("r0", first), fence, y.atomic.load("r1", then or first)),
            _fenced(y.atomic.load("r2", first), fence, x.atomic.load("r3", then or first)),
        ],
    )


def two_plus_two_writes(store: str = "relaxed", fence: str = "") -> Litmus:
    """2+2W: both write both locations, in opposite order."""
    return litmus(
        "2+2W",
        [
            _fenced(x.atomic.store(1, store), fence, y.atomic.store(2, store)),
            _fenced(y.atomic.store(1, store), fence, x.atomic.store(2, store)),
        ],
        memory=True,
    )


def s(
    store: str = "relaxed", load: str = "relaxed", last: str = "relaxed", fence: str = "", value: int | str = 1
) -> Litmus:
    """S: message passing whose reader overwrites the data."""
    return litmus(
        "S",
        [
            _fenced(x.atomic.store(2, last), fence, y.atomic.store(1, store)),
            _fenced(y.atomic.load("r0", load), fence, x.atomic.store(value, last)),
        ],
        memory=True,
    )


def r(store: str = "relaxed", load: str = "relaxed", fence: str = "") -> Litmus:
    """R: writes race for a location, and the one that comes later does not see what came before the other."""
    return litmus(
        "R",
        [
            _fenced(x.atomic.store(1, store), fence, y.atomic.store(1, store)),
            _fenced(y.atomic.store(2, store), fence, x.atomic.load("r0", load)),
        ],
        memory=True,
    )


def write_read_causality(
    store: str = "relaxed", load: str = "relaxed", first: str | None = None, middle: str | None = None
) -> Litmus:
    """WRC: message passing by way of a third work-item. `first`, `middle`: the orders of x's store and first load."""
    return litmus(
        "WRC",
        [
            [x.atomic.store(1, first or store)],
            [x.atomic.load("r0", middle or load), y.atomic.store(1, store)],
            [y.atomic.load("r1", load), x.atomic.load("r2", load)],
        ],
    )


def isa2(store: str = "relaxed", load: str = "relaxed", last: str | None = None) -> Litmus:
    """ISA2: message passing by two flags in turn. `last` is the order of the second flag's store."""
    return litmus(
        "ISA2",
        [
            [x.atomic.store(1), y.atomic.store(1, store)],
            [y.atomic.load("r0", load), z.atomic.store(1, last or store)],
            [z.atomic.load("r1", load), x.atomic.load("r2")],
        ],
    )


def read_write_causality(store: str = "relaxed", load: str = "relaxed", fence: str = "") -> Litmus:
    """RWC: one writer, a reader that goes on to another location, and a writer of that one that looks back."""
    return litmus(
        "RWC",
        [
            [x.atomic.store(1, store)],
            _fenced(x.atomic.load("r0", load), fence, y.atomic.load("r1", load)),
            _fenced(y.atomic.store(1, store), fence, x.atomic.load("r2", load)),
        ],
    )


def release_sequence(between: Program, elsewhere: Program = (), flag: int = 2) -> Litmus:
    """Message passing whose flag is overwritten after its release; the reader waits for the value `flag`."""
    items = [
        [x.store(1), y.atomic.store(1, "release"), *between],
        [y.atomic.load("r0", "acquire"), x.load("r1").when(r0=flag)],
    ]
    return litmus("release sequence", [*items, elsewhere] if elsewhere else items)


def seed(repair: str = "") -> Litmus:
    """The seeds' program: A writes x, then y; B prints x and y, having loaded y first.

    Args:
      repair: nothing for the relaxed accesses that the text supposes; `"plain"`, `"release_acquire"`, `"fences"`,
        `"barrier"`, `"narrow_scope"` or `"narrow_fences"`.
    """
    order = ("release", "acquire") if repair in ("release_acquire", "narrow_scope") else ("relaxed", "relaxed")
    scope = "work_group" if repair == "narrow_scope" else "device"
    fence = "acq_rel" if repair in ("fences", "narrow_fences") else ""
    fence_scope = "work_group" if repair == "narrow_fences" else "device"
    if repair in ("plain", "barrier"):
        meet = [litmus.barrier()] if repair == "barrier" else []
        programs: list[Program] = [[x.store(1), y.store(2), *meet], [*meet, y.load("ly"), x.load("lx")]]
    else:
        programs = [
            _fenced(x.atomic.store(1, scope=scope), fence, y.atomic.store(2, order[0], scope), fence_scope),
            _fenced(y.atomic.load("ly", order[1], scope), fence, x.atomic.load("lx", scope=scope), fence_scope),
        ]
    return litmus("seed", programs, "work_group" if repair == "barrier" else "device")


def _seed(repair: str, verdict: str, summary: str, source: str) -> Known:
    name = f"seed_{repair}" if repair else "seed"
    return Known(name, summary, seed(repair), {"lx": 0, "ly": 2}, verdict, source)


_STALE = {"r0": 1, "r1": 0}
_NEITHER = {"r0": 0, "r1": 0}
_BOTH = {"r0": 1, "r1": 1}
_OPPOSITE = {"r0": 1, "r1": 0, "r2": 1, "r3": 0}
_LOST = {"r0": 1, "r1": 1, "r2": 0}

_KNOWN = (
    _seed("", ALLOWED, 'The text\'s example: relaxed, it may print "0 2"', SEED),
    _seed("plain", UNDEFINED, "The same with plain accesses", f"{RACES}, data race"),
    _seed("release_acquire", FORBIDDEN, "Repaired by release and acquire", f"{RACES}, {ORDER}"),
    _seed("fences", FORBIDDEN, "Repaired by fences", FENCES),
    _seed("barrier", FORBIDDEN, "Repaired by a barrier of their work-group", BARRIER),
    _seed("narrow_scope", UNDEFINED, "Broken again: scope work_group between two work-groups", SCOPE),
    _seed("narrow_fences", ALLOWED, "Broken again: fences of scope work_group between two work-groups", SCOPE),
    Known("mp", "Message passing, relaxed", message_passing(), _STALE, ALLOWED, ORDER),
    Known(
        "mp_release_acquire",
        "Message passing by release and acquire",
        message_passing("release", "acquire"),
        _STALE,
        FORBIDDEN,
        RACES,
    ),
    Known("sb", "Store buffering, release and acquire", store_buffering("release", "acquire"), _NEITHER, ALLOWED, RC11),
    Known("sb_seq_cst", "Store buffering, seq_cst", store_buffering("seq_cst", "seq_cst"), _NEITHER, FORBIDDEN, ORDER),
    Known(
        "sb_fences",
        "Store buffering with seq_cst fences",
        store_buffering(fences=("seq_cst",) * 2),
        _NEITHER,
        FORBIDDEN,
        ORDER,
    ),
    Known("lb", "Load buffering, relaxed", load_buffering(), _BOTH, ALLOWED, ORDER),
    Known(
        "lb_acquire_release",
        "Load buffering, acquire and release",
        load_buffering("acquire", "release"),
        _BOTH,
        FORBIDDEN,
        RACES,
    ),
    Known(
        "lb_data",
        "Load buffering of values out of thin air",
        load_buffering(values=("r0", "r1")),
        _BOTH,
        FORBIDDEN,
        f"{ORDER}, thin air",
    ),
    Known(
        "iriw",
        "Independent reads of independent writes, release and acquire",
        independent_reads("release", "acquire"),
        _OPPOSITE,
        ALLOWED,
        RC11,
    ),
    Known(
        "iriw_seq_cst",
        "Independent reads of independent writes, seq_cst",
        independent_reads("seq_cst", "seq_cst"),
        _OPPOSITE,
        FORBIDDEN,
        ORDER,
    ),
    Known(
        "2+2w", "Two writes each in opposite order, relaxed", two_plus_two_writes(), {"x": 1, "y": 1}, ALLOWED, ORDER
    ),
    Known(
        "2+2w_seq_cst",
        "Two writes each in opposite order, seq_cst",
        two_plus_two_writes("seq_cst"),
        {"x": 1, "y": 1},
        FORBIDDEN,
        ORDER,
    ),
    Known("s", "Message passing to an overwriter, relaxed", s(), {"r0": 1, "x": 2}, ALLOWED, ORDER),
    Known(
        "s_release_acquire",
        "Message passing to an overwriter by release and acquire",
        s("release", "acquire"),
        {"r0": 1, "x": 2},
        FORBIDDEN,
        RACES,
    ),
    Known(
        "r",
        "Overwriting and looking back, release and acquire",
        r("release", "acquire"),
        {"r0": 0, "y": 2},
        ALLOWED,
        RC11,
    ),
    Known(
        "r_seq_cst",
        "Overwriting and looking back, seq_cst",
        r("seq_cst", "seq_cst"),
        {"r0": 0, "y": 2},
        FORBIDDEN,
        ORDER,
    ),
    Known("wrc", "Message passing by a third work-item, relaxed", write_read_causality(), _LOST, ALLOWED, ORDER),
    Known(
        "wrc_release_acquire",
        "Message passing by a third work-item, release and acquire",
        write_read_causality("release", "acquire"),
        _LOST,
        FORBIDDEN,
        RACES,
    ),
    Known(
        "isa2", "Message passing by two flags, release and acquire", isa2("release", "acquire"), _LOST, FORBIDDEN, RACES
    ),
    Known(
        "rwc_fences",
        "Read-write causality with seq_cst fences; C++17's own rule allows it",
        read_write_causality(fence="seq_cst"),
        {"r0": 1, "r1": 0, "r2": 0},
        FORBIDDEN,
        f"{RC11}, section 2.2; {P0668}",
    ),
    Known(
        "release_sequence",
        "An update by a third work-item keeps the release",
        release_sequence([], [y.atomic.fetch_add("r2", 1)]),
        {"r0": 2, "r1": 0},
        FORBIDDEN,
        f"{RACES}, release sequence",
    ),
)

KNOWN: Mapping[str, Known] = MappingProxyType({known.name: known for known in _KNOWN})


def known(name: str) -> Known:
    """The litmus test called `name`.

    Raises:
      KernelArgumentError: there is none; the message lists them and suggests the nearest.
    """
    if name in KNOWN:
        return KNOWN[name]
    raise KernelArgumentError(
        f"there is no litmus test {name!r}{did_you_mean(name, tuple(KNOWN))}. The litmus tests are {', '.join(KNOWN)}"
    )
