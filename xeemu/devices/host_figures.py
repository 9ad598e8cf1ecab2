"""Groups of figures of a kind of host: what pays there in loops, windows, threads and others (see `Target`).

Each says where it was measured; the hosts are those of `target.py`.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Strips:
    """How many iterations of a loop are emitted one after the other, as a strip of it.

    2-core CPU and H200: the convolution of the collection, and its serial reduction as that carries a value in place of
    a memory. With 64 iterations the H200 would be faster by a tenth, and compile for half as long again.

    Attributes:
      most: iterations, of loops that only look elements up.
      most_of_many: the same where many work-items are emulated: a CPU has too few registers for the places and factors
        of more (sums of a convolution, 2-core CPU: 1.2 to 1.4 times as fast with 16 as with 64).
      most_of_fills: of loops that fill a memory (convolution; 2-core CPU: twice as long from 12 on; 2-core EPYC:
        table_copy_bad takes 3.4 times as long with 1. H200: with 1 it takes 0.46 of the time, a convolution 0.88).
      most_branching: of loops whose slices may be out of bounds, each with a branch (2-core EPYC, a product of 300 x
        200 x 300 in groups of 16 x 16: with 1 it takes 7.4 times as long, with 64 1.3 times, and 2 to 6 to compile).
      most_of_left: of groups that are left behind the full chunks, whose code had better be short (2-core EPYC: with 64
        the convolutions run as long, and compile an eighth longer; one without bounds, with two thirds as many groups
        left as before, takes 1.0 to 1.1 times as long with 4); a GPU waits for its kernels then rather than for what
        they compute.
      untested: iterations of a loop of few operations that groups leave at different times, before the host looks if
        any goes on (H100: with 1 rows of a sparse matrix take 1.8 times as long, those of OpenCL C 2.3, steps of
        integers 2.7, rows of 3 elements 1.4; with 8 they take 0.7, 1.1, 0.8 and 0.9 of the time, and their first call
        1.4 to 1.7; as a loop inside the loop they take as long as with 1; fused with each other, 0.9, 1.3, 0.9 and 1.0,
        and their first call 1.3 to 1.7; a CPU looks in passing).
      largest_body: operations of a body that is emitted more than once (2-core EPYC: with 8 a convolution takes 1.4
        times as long; without a limit none of 20 examples and common kernels changes).
      largest_strip: operations of all iterations together (2-core EPYC: with 768 a loop of 20 operations takes 1.15
        times as long, and twice as long to compile; with 192 slm_bank_16 takes 1.2 times as long).
    """

    most: int
    most_of_many: int
    most_of_fills: int
    most_branching: int
    most_of_left: int
    untested: int
    largest_body: int
    largest_strip: int


@dataclasses.dataclass(frozen=True)
class Blocks:
    """Iterations of a loop that are computed at once, as one array.

    Attributes:
      reduced_elements: elements of a block's arrays in loops that reduce. 2-core CPU: 2^15 to 2^17 take 5 to 8 % less
        than 2^14 for a sum of 2^22 elements, and as long for other reductions. GPU: not measured.
      spread_elements: the same in loops whose iterations are independent. 2-core CPU: 2^12 to 2^16 are about as good;
        H200: 2^18 to 2^24.
      most_lanes: elements of an iteration from which on it has work enough of its own (2-core EPYC: a sum by two
        work-items takes 2.3 times as long with 1, one by 64 takes 1.7 times as long with 128, and a convolution 1.15
        without a limit).
      unrolled: blocks that are emitted one after the other, so that accumulators are gone over once for all of them
        (H200: without slm_bank_16 takes 3.6 times as long, slm_bank_1 2.4; 2-core EPYC: with 8 sums of few work-items
        take 1.0 to 1.4 times as long).
      updates: iterations that find together what they update. 2-core CPU: for the histograms of the collection 64 to
        256 are as good.
    """

    reduced_elements: int
    spread_elements: int
    most_lanes: int
    unrolled: int
    updates: int


@dataclasses.dataclass(frozen=True)
class Windows:
    """How many times as many elements as are used an array may have that is read as a whole.

    Attributes:
      widest: of a window of a memory, read in place of a gather (2-core EPYC: with 256 histogram_private takes 28 times
        as long, histogram_slm 17 times, a convolution 1.1; with 2 a load of every third, sixth or eighth element 1.8,
        1.8 and 1.4 times, of every twelfth or sixteenth 0.8).
      widest_around: of a rectangle around several neighbours, beside one of them (2-core EPYC: eight loads 30000 to
        50000 elements apart take 1.1 times as long with 2, 1.1 to 1.2 with 8).
      fewest_neighbours: neighbours up to which each is read for itself where all groups are one chunk: they fuse
        (2-core EPYC: with 0 four neighbours of 256 x 256 elements take 1.8 times as long, with 25 as many of 512 x 512
        1.6 times).
      longest_streamed: of a window of several iterations, beside one of them: more is not kept at hand (2-core EPYC: a
        sum by 1024 work-items takes 1.3 times as long with 0, 2.9 times without a limit).
      short_streamed: elements up to which such a window is short anyway (2-core EPYC: with 1 a convolution takes 1.1
        times as long).
    """

    widest: int
    widest_around: int
    fewest_neighbours: int
    longest_streamed: int
    short_streamed: int


@dataclasses.dataclass(frozen=True)
class Counting:
    """When additions to one of few elements are comparisons with each of them rather than a scatter.

    2-core CPU, histogram_private: rows of bytes compared with each of 32 bins take 0.4 ns for each update, where a
    scatter takes 1.2 and its index 0.3.

    Attributes:
      most_private, most_local: elements; with twice as many a scatter is as fast, and it is faster in a group's memory.
      compared_at_once: arrays whose rows are counted in one loop: LLVM vectorises none over more that it must tell
        apart.
    """

    most_private: int
    most_local: int
    compared_at_once: int


@dataclasses.dataclass(frozen=True)
class Reductions:
    """How long rows of integers are reduced, where the compiler's own loops are slower than vectors put together first.

    2-core EPYC: a sum of 2^20 integers takes 2.4 times as long without, one of as many that are computed 3.9 times.
    The ratios below are of these two.

    Attributes:
      short: the longest axis that XLA reduces in one pass (2-core EPYC: with 64 2.3 and 1.7, with 16 1.3 and 1.1).
      vectors, lanes: so many vectors of so many elements are put together first (2-core EPYC: with 4 vectors 5.2 and
        1.0, with 16 1.6 and 5.7; with 16 lanes 5.0 and 0.9, with 64 2.3 and 1.5).
      parts: of a row where rows are fewer, for as many cores (2-core EPYC, 2^22 integers: with 1 1.7 and 2.1 times as
        long, with 4 1.1 and 1.2, with 64 as long).
    """

    short: int
    vectors: int
    lanes: int
    parts: int


@dataclasses.dataclass(frozen=True)
class Cycles:
    """When look-ups by a remainder are copies of one round of elements.

    2-core EPYC, JAX 0.10.2 and 0.11.2: without, table_copy_min takes 3.9 and 3.0 times the processor's time,
    rows_by_division 1.3 times, and its first call 3 times, as threads are looked for that share its look-ups.

    Attributes:
      fewest: elements of the rounds that are found (2-core EPYC: with 2^14 table_copy_min takes 1.2 times as long, and
        weights of 96 elements 1.1 times).
      vector: they are a multiple of so many, else copies take three times as long.
      copies: that at least make up for finding them (2-core EPYC: with 4 rows_by_division takes 1.2 times as long).
      most_cores: XLA divides a gather among all cores, and copies among few: sixteen gather in 0.4 of the time.
    """

    fewest: int
    vector: int
    copies: int
    most_cores: int


@dataclasses.dataclass(frozen=True)
class Threads:
    """What cores take that share a launch, by which it is told beforehand how many do.

    2-core CPU: pieces take 0.74 of the time for the convolutions, 0.75 for a product of 1500 x 600 x 1500, 0.4 for rows
    of a sparse matrix.

    Attributes:
      unit_ns: nanoseconds of a core for a unit of work, an element of fused arithmetic.
      byte_ns: for a byte of arguments and results, which come from memory once.
      thread_ns: of work that a thread has at least: to wake one takes some tenths of a millisecond.
      piece_ns: of work that a piece of a launch has at least, which takes one or two milliseconds.
      merged_ns: for each element of a result of which threads have copies.
      moved_ns: for each byte of a result that is moved to its place.
      chunks: of a thread at least, so that none has much more to do than others.
      unshared_items: work-items of a chunk that somebody watches up to which one thread computes its operations: by
        several they wait for each other for longer (2-core EPYC: checks and profiles of loops over 1024 to 16384 take
        1.0 to 2.0 times as long by two, and over 65536 1.0 to 1.2).
      unshared_operations: operations of the work-items of a launch up to which one thread carries it out, as XLA would
        have several wait for each other (2-core EPYC, JAX 0.11: launches of 3e4 to 1.4e6 operations take 0.1 to 0.9 of
        the time by one, those of 2e6 to 5e6 0.7 to 1.1, of 2e7 1.0 to 1.6).
      costly, looped, sliced, looked_up: units of an element of arithmetic of many instructions (`Traits.slow`), of an
        access at places that are known in a loop and elsewhere, where it goes through caches, and of one that only data
        tell.
    """

    unit_ns: float
    byte_ns: float
    thread_ns: float
    piece_ns: float
    merged_ns: float
    moved_ns: float
    chunks: int
    unshared_items: int
    unshared_operations: int
    costly: int
    looped: int
    sliced: int
    looked_up: int


@dataclasses.dataclass(frozen=True)
class Watching:
    """What a launch takes that somebody watches, such as a check or a profile, and what is known again of it.

    Attributes:
      longer: how many times as long as in a launch a pass takes in the program as it was written, see `apart` (2-core
        EPYC: with 1 the profile of stores to local memory by an index takes 2.8 times as long, other checks and
        profiles 0.8 to 1.1 times; with 2 the profile of a chain of look-ups 1.4 times. GPU: not measured).
      kept_bytes: of arguments that are kept, and compared as they are; of more a digest is made (2-core EPYC: 4 MiB are
        compared in 0.1 ms, and in 2.3 by digests; a kilobyte takes 3 and 4 us). Few, as they take memory.
      known_bytes_per_s: of arguments for each second of a core that a run took, up to which it is worth while to know
        them again (EPYC, with instructions for SHA-256: a digest of 1.5e9 bytes takes a second, half of the run then).
      few_lanes, batch_lanes: of an access that waits to be measured with others, and of all that wait (2-core EPYC: the
        first profile of 32 accesses of 1024 lanes takes 3.0 times as long where none waits, of 8192 lanes 2.7; with
        2^10 and 2^16 1.0 and 2.4, with 2^16 and 2^20 1.1 and 1.0; later ones 1.0 to 1.1. GPU: not measured).
    """

    longer: float
    kept_bytes: int
    known_bytes_per_s: float
    few_lanes: int
    batch_lanes: int
