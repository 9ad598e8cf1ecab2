"""The memory model of SYCL 2020 (sections 3.8.3 and 4.15) as axioms: which executions of a program there may be.

SYCL takes C++17's model (N4659, [intro.races], [atomics.order], [atomics.fences]), adds scopes, and leaves their formal
definition open but for a note that points to OpenCL 2.0. What is implemented here, with names as in the literature:

* happens-before and coherence are C++17's, release sequences too: stores of the releasing work-item belong to them, as
  they no longer do in C++20 (P0982). One happens-before holds for all address spaces (section 3.8.3), unlike OpenCL's.
* The order of `seq_cst` operations is the repaired one of C++20 (P0668) in the form of RC11's `psc` (Lahav, Vafeiadis,
  Kang, Hur, Dreyer, "Repairing Sequential Consistency in C/C++11", PLDI 2017): C++17's promises more of accesses than
  compilers for GPUs and Power give, and less of fences than all of them do. Where `psc` has no cycle, S exists.
* Scopes count as in the scoped RC11 of Lustig, Sahasrabuddhe and Giroux (ASPLOS 2019): two operations synchronise only
  if each one's scope includes the other's work-item, and conflicting atomic ones that do not are a data race. OpenCL
  2.0 asks for equal scopes, SYCL for "differing (but compatible)" ones.
* RC11's axiom against values out of thin air, which keeps every load before later stores, is not taken: C++ and GPUs
  let stores pass earlier loads. What C++17's [atomics.order] recommends is, see `executions`.
"""

import dataclasses

import numpy as np

from xeemu.memory_model.relations import Relation


@dataclasses.dataclass(frozen=True)
class EventStructure:
    """The events of executions that took the same branches, and what follows of them from the program alone.

    Attributes:
      sb: sequenced before; every initial value is before all else.
      item: events of one work-item, each with itself.
      location: accesses to one location, each with itself.
      inclusive: atomic operations and fences whose scopes include each other's work-items.
      barrier: from each arrival at a barrier to each other work-item's leave of it.
      reads, writes: sets of accesses; an atomic update is in both.
      atomics: the accesses that are atomic.
      fences: fences, arrivals at barriers (which release) and leaves (which acquire).
      acquires, releases, seq_csts: accesses and fences with such an order.
      places: of each location the accesses to it, and the events that may synchronise for it: a fence or barrier that
        was given locations orders the accesses to these alone.
      general: the events that may synchronise for all locations.
    """

    sb: Relation
    item: Relation
    location: Relation
    inclusive: Relation
    barrier: Relation
    reads: int
    writes: int
    atomics: int
    fences: int
    acquires: int
    releases: int
    seq_csts: int
    places: tuple[tuple[int, int], ...]
    general: int


@dataclasses.dataclass(frozen=True)
class Model:
    """A batch of executions of a structure, and what the axioms say of each.

    Attributes:
      rf: reads from: from a write to each read of its value.
      mo: modification order (coherence order): the writes to each location, in a total order.
      sw: synchronises with.
      hb: happens before; `hb_at` between accesses to one location, by what orders that location.
      consistent: `[B]` bool, true where the model allows the execution.
      races: conflicting accesses that nothing orders.
    """

    rf: Relation
    mo: Relation
    sw: Relation
    hb: Relation
    hb_at: Relation
    consistent: np.ndarray
    races: Relation


def judge(structure: EventStructure, rf: Relation, mo: Relation) -> Model:
    """Applies the model to executions that are given by where reads read from and in which order writes take effect."""
    sw = synchronizes_with(structure, rf, mo)
    hb = (structure.sb | sw.between(structure.general, structure.general)).closure()
    hb_at = happens_before_at_locations(structure, sw, hb)
    rb = rf.inverse() @ mo - Relation.identity(mo.size)  # reads before: what a read does not see yet
    eco = (rf | mo | rb).closure()  # extended coherence order
    consistent = coherent(structure, hb, hb_at, eco) & atomic(structure, rb, mo)
    if structure.seq_csts:
        consistent = consistent & sequentially_consistent(structure, hb, hb_at, mo, rb, eco)
    return Model(rf, mo, sw, hb, hb_at, consistent, races(structure, hb_at))


def release_sequence(structure: EventStructure, mo: Relation) -> Relation:
    """C++17 [intro.races], "release sequence": a maximal contiguous part of the modification order.

    It has its head, then stores by the head's work-item and atomic updates by anybody.
    """
    member = structure.item | Relation(np.full(mo.size, structure.reads & structure.writes, np.uint32))
    return ((mo & member) - (mo - member) @ mo).maybe()


def synchronizes_with(structure: EventStructure, rf: Relation, mo: Relation) -> Relation:
    """C++17 [atomics.order] "release ... synchronizes with", [atomics.fences] for fences; scopes; barriers.

    Scopes: OpenCL 2.0 API, "Memory Consistency Model", "inclusive scope". Barriers: SYCL 2020, `group_barrier`: "a
    release mem-fence prior to synchronizing", "an acquire mem-fence after", and implicit synchronisation of these.
    """
    atomic_writes, atomic_reads = structure.atomics & structure.writes, structure.atomics & structure.reads
    same = Relation.identity(mo.size)
    released = same.between(structure.releases, atomic_writes) | structure.sb.between(
        structure.releases & structure.fences, atomic_writes
    )
    acquired = same.between(atomic_reads, structure.acquires) | structure.sb.between(
        atomic_reads, structure.acquires & structure.fences
    )
    observed = released @ release_sequence(structure, mo) @ rf @ acquired
    return (observed & structure.inclusive) - structure.item | structure.barrier


def happens_before_at_locations(structure: EventStructure, sw: Relation, hb: Relation) -> Relation:
    """Happens-before between accesses to the same location, by the fences and barriers that order it."""
    found = Relation(np.zeros_like(hb.rows))
    for accesses, ordering in structure.places:
        here = hb if ordering == structure.general else (structure.sb | sw.between(ordering, ordering)).closure()
        found |= here.between(accesses, accesses) | here & Relation.identity(hb.size)
    return found


def coherent(structure: EventStructure, hb: Relation, hb_at: Relation, eco: Relation) -> np.ndarray:
    """C++17 [intro.races]: happens-before has no cycle; write-write, read-read, read-write, write-read coherence.

    All four say that what happens before must not be later in the order in which a location's values are seen.
    """
    return hb.irreflexive() & (hb_at @ eco.maybe()).irreflexive()


def atomic(structure: EventStructure, rb: Relation, mo: Relation) -> np.ndarray:
    """C++17 [atomics.order]: an atomic update reads "the last value ... before the write associated with" it."""
    updates = structure.reads & structure.writes
    between = (rb @ mo) & Relation.identity(mo.size)
    late = mo.between(updates, updates) @ rb & Relation.identity(mo.size)
    return between.between(updates, updates).empty() & late.empty()


def sequentially_consistent(
    structure: EventStructure, hb: Relation, hb_at: Relation, mo: Relation, rb: Relation, eco: Relation
) -> np.ndarray:
    """C++20 [atomics.order], the order S of `seq_cst` operations: RC11's `psc` has no cycle."""
    everything, fences = (1 << mo.size) - 1, structure.seq_csts & structure.fences
    same = Relation.identity(mo.size).between(structure.seq_csts, structure.seq_csts)
    elsewhere = structure.sb - structure.location
    scb = structure.sb | elsewhere @ hb @ elsewhere | hb_at | mo | rb
    by_accesses = (
        (same | hb.maybe().between(fences, everything)) @ scb @ (same | hb.maybe().between(everything, fences))
    )
    by_fences = (hb | hb @ eco @ hb).between(fences, fences)
    return ((by_accesses | by_fences) & structure.inclusive).acyclic()


def races(structure: EventStructure, hb_at: Relation) -> Relation:
    """C++17 [intro.races] "data race"; OpenCL 2.0 adds atomic operations "that do not have inclusive memory scope"."""
    everything = (1 << hb_at.size) - 1
    writes, same = structure.writes, structure.location
    conflict = same.between(writes, everything) | same.between(everything, writes)
    safe = structure.inclusive.between(structure.atomics, structure.atomics)
    possible = conflict - structure.item - safe
    if possible.empty():
        return Relation(np.zeros_like(hb_at.rows))
    return possible - hb_at - hb_at.inverse()
