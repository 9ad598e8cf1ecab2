"""`Target`: a kind of host that the emulation runs on, as `Device` is a modelled device: what pays there, in figures.

A launch chooses one by where JAX will run it, and hands it down; nothing else in xeemu knows the host. Each figure says
where it was measured: "2-core CPU" is the machine that most of the work was done on, whose model is not recorded,
"2-core EPYC" one with vectors of 512 bits, by the time of its cores, and H200 a GPU. Those of a GPU that say "not
measured" were set by what a kernel launch costs, beside which a few more elements are nothing.
"""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from xeemu.devices.host_figures import Blocks, Counting, Cycles, Reductions, Strips, Threads, Watching, Windows


@dataclasses.dataclass(frozen=True)
class Target:
    """A kind of host.

    Attributes:
      name: what it is called here.

      skips_branches: a branch that is not taken costs nothing. On a GPU the launch would stop to look.
      scatters_in_order: a scatter takes its elements one after the other, in their order.
      gathers_one_by_one: a gather takes one element after the other, several times as long as a slice.
      keeps_shared: values that groups share are better kept once. A GPU's compiler does better with all written out.
      joins_by_branches: arrays put together of parts are computed with a branch for each element, parts apart without.
      copies_reshaped: an array of which a part is stored is copied if a launch gives it in another shape, and computed
        anew as a whole (2-core EPYC, groups left behind the chunks of rows_by_division: 3.0 ms of its cores for 3.3, or
        10 where the copy's pages are new).
      divides_slowly: a division by a number known as the program runs is slower than a multiplication.
      has_system_memory: its memory is the system's, for all devices of a process.

      chunk_bytes: working set of a chunk unless the user says otherwise: about a core's cache on a CPU (2-core CPU:
        products and tables gain a fifth to a third by it), enough to fill a GPU (not measured).
      observed_chunk_bytes: the same under observers, whose counters take room as well. How many groups go in lockstep
        decides how often they try a compare-and-exchange again: the counts of `tests/data/validation.csv` are for this.
      most_times: how many times as much the compiler may take in the end: a bound of memory, not what is fastest.
      whole_bytes: of a launch of so much it is tried true if the compiler needs chunks at all; 0 for never (2-core CPU,
        reductions by atomics: 0.55 ms for 1.22).
      many_items: work-items of a chunk from which on what they do takes much longer than to begin it (2-core CPU, sums
        and products of a convolution); None where that is never so.
      fewest_groups: groups that at least are emulated together, rather than long blocks of iterations (2-core EPYC:
        with 64 histogram_private takes 2.8 times as long; with 1 none of 20 examples and common kernels changes).
      fewest_shard_chunks, fewest_shard_items: chunks that a device of a mesh has at least if those at the ends are
        emulated for themselves, unless a chunk has so few work-items (2-core EPYC as two devices: with no work-items
        neighbours of 2^22 elements take as long, with 32 chunks 0.7 times, of 2^24 as long. GPU: not measured).
      watched_iterations: of a loop that are emitted at a time where somebody watches (2-core EPYC: a check of a filter
        takes 1.5 times as long with 1, and 1.05 times as long to compile with 32).
      vector_bits: of vectors that XLA is asked for where it would use half; None to leave it to XLA. EPYC and Xeon with
        AVX-512: sums of a convolution 1.2 to 1.4 times as fast; look-ups take up to twice as long, and updates by an
        index that data give 1.0 to 1.4 times (histograms of the collection).
      short_operations: operations of work-items up to which a watched program is compiled with little effort, as that
        takes longer than what more would gain, some milliseconds (2-core CPU: a check of a small launch takes half as
        long); 0 for never.
      unseen_operations: the same of a program that nobody watches and that is carried out once, each in less than a
        part of the time (2-core EPYC: a histogram of 2^22.7 operations takes 0.2 s with little effort, most of it to
        compile, and 1.0 s without; one of 2^28.7 takes 0.9 s and 1.2 s); 0 for never.
      merged_updates: updates that are a single one, at most, whose values are there at once (2-core EPYC: without a
        limit 256 additions to local memory take 1.4 times as long, and as many to global memory 0.8 to 1.1; with 16
        these 1.0 to 1.3, and 128 or 256 stores of a work-item 0.7 to 0.8. GPU: not measured).
      unasked_bytes: of a launch up to which the system is not asked for what is available (2-core EPYC: 0.5 ms of a
        core, where the smallest launch takes 0.02).
      strips, blocks, windows, counting, reductions, cycles, threads, watching: see there; None where there is no such
        thing.
    """

    name: str
    skips_branches: bool
    scatters_in_order: bool
    gathers_one_by_one: bool
    keeps_shared: bool
    joins_by_branches: bool
    copies_reshaped: bool
    divides_slowly: bool
    has_system_memory: bool
    chunk_bytes: int
    observed_chunk_bytes: int
    most_times: int
    whole_bytes: int
    many_items: int | None
    fewest_groups: int
    fewest_shard_chunks: int
    fewest_shard_items: int
    watched_iterations: int
    vector_bits: int | None
    short_operations: int
    unseen_operations: int
    merged_updates: int
    unasked_bytes: int
    strips: Strips
    blocks: Blocks
    windows: Windows
    counting: Counting
    reductions: Reductions | None
    cycles: Cycles | None
    threads: Threads | None
    watching: Watching


_WINDOWS = Windows(widest=16, widest_around=4, fewest_neighbours=12, longest_streamed=2, short_streamed=512)
_COUNTING = Counting(most_private=64, most_local=32, compared_at_once=8)
_WATCHING = Watching(longer=4 / 3, kept_bytes=1 << 22, known_bytes_per_s=0.75e9, few_lanes=1 << 13, batch_lanes=1 << 16)

CPU = Target(
    name="cpu",
    skips_branches=True,
    scatters_in_order=True,
    gathers_one_by_one=True,
    keeps_shared=True,
    joins_by_branches=True,
    copies_reshaped=True,
    divides_slowly=True,
    has_system_memory=True,
    chunk_bytes=2 << 20,
    observed_chunk_bytes=1 << 20,
    most_times=8,
    whole_bytes=256 << 20,
    many_items=1 << 12,
    fewest_groups=4,
    fewest_shard_chunks=8,
    fewest_shard_items=1 << 22,
    watched_iterations=8,
    vector_bits=512,
    short_operations=2**22,
    unseen_operations=2**25,
    merged_updates=64,
    unasked_bytes=64 << 20,
    strips=Strips(
        most=64,
        most_of_many=16,
        most_of_fills=8,
        most_branching=8,
        most_of_left=4,
        untested=1,
        largest_body=24,
        largest_strip=384,
    ),
    blocks=Blocks(
        reduced_elements=1 << 15,
        spread_elements=1 << 14,
        most_lanes=4,
        unrolled=1,
        updates=64,
    ),
    windows=_WINDOWS,
    counting=_COUNTING,
    reductions=Reductions(short=32, vectors=8, lanes=32, parts=16),
    cycles=Cycles(fewest=1 << 11, vector=16, copies=16, most_cores=4),
    threads=Threads(
        unit_ns=0.005,
        byte_ns=0.05,
        thread_ns=4e6,
        piece_ns=2e6,
        merged_ns=20,
        moved_ns=1,
        chunks=4,
        unshared_items=1 << 14,
        unshared_operations=1 << 20,
        costly=32,
        looped=2,
        sliced=40,
        looked_up=256,
    ),
    watching=_WATCHING,
)
"""A CPU with vectors of 256 or 512 bits, by XLA."""

GPU = Target(
    name="gpu",
    skips_branches=False,
    scatters_in_order=False,
    gathers_one_by_one=False,
    keeps_shared=False,
    joins_by_branches=False,
    copies_reshaped=False,
    divides_slowly=False,
    has_system_memory=False,
    chunk_bytes=2 << 30,
    observed_chunk_bytes=2 << 30,
    most_times=8,
    whole_bytes=0,
    many_items=None,
    fewest_groups=4,
    fewest_shard_chunks=8,
    fewest_shard_items=1 << 22,
    watched_iterations=8,
    vector_bits=None,
    short_operations=0,
    unseen_operations=0,
    merged_updates=64,
    unasked_bytes=64 << 20,
    strips=dataclasses.replace(CPU.strips, most=32, most_of_fills=1, most_branching=32, most_of_left=16, untested=4),
    blocks=dataclasses.replace(
        CPU.blocks, reduced_elements=1 << 20, spread_elements=1 << 22, most_lanes=128, unrolled=8
    ),
    windows=_WINDOWS,
    counting=_COUNTING,
    reductions=None,
    cycles=None,
    threads=None,
    watching=_WATCHING,
)
"""A GPU by XLA; where not said otherwise, an H200."""

TARGETS: Mapping[str, Target] = MappingProxyType({"cpu": CPU})
"""By the names of JAX's platforms."""


def of_platform(platform: str) -> Target:
    """The kind of host that a platform of JAX is; what is not known counts as a GPU."""
    return TARGETS.get(platform, GPU)
