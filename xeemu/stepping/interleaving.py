"""Interleaving: a launch whose work-items run in an order drawn from a key, as SYCL permits it, instead of in lockstep.

All work-groups are under way together. At each turn some of the work-items that can go on carry out one step, until
they have to meet the others of their group. What their plain stores write may stay unseen as long as SYCL permits (see
`visibility`). It runs in Python, step by step, with NumPy for the memories: for small launches.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from xeemu.errors import KernelArgumentError
from xeemu.ir import ops
from xeemu.language import collectives
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation
from xeemu.language.memory import poison
from xeemu.language.orders import ACQUIRING, RELEASING
from xeemu.language.program import Program
from xeemu.stepping import convergence, preparing, steps, turns, visibility
from xeemu.stepping.history import Accessed, Fenced, History, Synchronised, bits
from xeemu.stepping.memories import Accesses, Lanes, Memories, element_of
from xeemu.stepping.owed_barriers import OwedBarriers
from xeemu.stepping.preparing import PreparedCode
from xeemu.stepping.rounds import Rounds
from xeemu.stepping.steps import AccessStep, Branch, Fence, GroupFunction, Operand, Register, Straight
from xeemu.stepping.visibility import Contents

# As much as so many work-items that go on; and so many that do not take as much as one that does.
_EFFORT_OF_A_TURN = 64


def run(
    program: Program, given: Sequence[Any], seed: turns.Seed, max_iterations: int | None = None
) -> list[np.ndarray]:
    """The arrays that a kernel returns under one schedule.

    Args:
      program: the kernel.
      given: the launch's arguments.
      seed: from the key.
      max_iterations: of a loop that need not end, by one work-item; None for the default.

    Raises:
      KernelError: work-items of a group wait for each other at different places; a part of a sub-group comes to one of
        its barriers; or a loop was given up.
    """
    with jax.enable_x64(program.wide), jax.default_device(preparing.host()), np.errstate(all="ignore"):
        rounds = Rounds(program.geometry, max_iterations)
        launch = SteppedLaunch(preparing.of_program(program), given, turns.Turns(seed, program.geometry), rounds)
        launch.run()
    shapes = [np.shape(a) for a in given]
    return [launch.memories[_argument(program, k)].cells.reshape(shapes[k]) for k in program.outputs]


def launched(
    program: Program, given: Sequence[Any], seed: turns.Seed, inside_jit: bool, max_iterations: int | None
) -> list[jax.Array]:
    """The same as a part of `xe.launch`, as JAX arrays.

    Raises:
      KernelArgumentError: the launch is part of a jit.
    """
    if inside_jit:
        raise KernelArgumentError(
            "a launch with a schedule runs step by step in Python, so it cannot be part of a jit; call it outside"
        )
    outputs = run(program, given, seed, max_iterations)
    with jax.enable_x64(program.wide):
        return [jax.numpy.asarray(output) for output in outputs]


def effort_of_a_turn(work_items: int) -> int:
    """What a turn takes for itself in a launch of so many work-items, whoever goes on."""
    return _EFFORT_OF_A_TURN + work_items // _EFFORT_OF_A_TURN


def _argument(program: Program, number: int) -> Allocation:
    memory = program.arguments[number]
    assert memory is not None
    return memory


class SteppedLaunch:
    """A launch under way.

    Attributes:
      taken: int64 `[groups, items]` steps that each work-item has taken.
    """

    def __init__(
        self,
        prepared: PreparedCode,
        given: Sequence[Any],
        drawn: turns.Turns,
        rounds: Rounds,
        history: History | None = None,
    ):
        self.prepared, self.turns, self._rounds, self._history = prepared, drawn, rounds, history
        self.geometry: Geometry = prepared.program.geometry
        shape = (self.geometry.groups, self.geometry.items)
        self._present = self._existing()
        self.taken = np.zeros(shape, np.int64)
        self._places = np.full(shape, prepared.onward[0])
        # Who waits at a group function; who for a barrier that it has gone past, and where; who has ended.
        self._waits, self._blocked = np.zeros(shape, bool), np.zeros(shape, bool)
        self._owed = OwedBarriers(shape, prepared.code)
        self._ended = ~self._present
        self._rows = np.arange(shape[1]) // self.geometry.sub_group_size
        self._memory = Memories(prepared.program, given, drawn)
        self._values: dict[int, np.ndarray] = {}
        for register, what, number in prepared.code.initial:
            self._values[register.number] = self._start(register, what, number, given)

    @property
    def memories(self) -> Mapping[Allocation, Contents]:
        """The contents of each memory."""
        return self._memory.contents

    def _existing(self) -> np.ndarray:
        """`[groups, items]` which work-items there are."""
        return _present(self.geometry)

    def _notify(self, place: int, members: np.ndarray) -> None:
        """Work-items, by a mask of `[groups, items]`, have carried out a step; for those who watch a launch."""

    def _start(self, register: Register, what: str, number: int | None, given: Sequence[Any]) -> np.ndarray:
        shape = self._present.shape
        if what == "local_id":
            return np.broadcast_to(steps.local_ids(self.geometry, number), shape)
        if what == "group_id":
            return np.broadcast_to(steps.group_ids(self.geometry, number)[:, None], shape)
        assert number is not None
        return np.broadcast_to(np.asarray(given[number]).astype(register.dtype), shape)

    def run(self, most: int | None = None) -> int:
        """Runs all work-items to their end, or until it has taken an effort; gives what it took.

        A turn takes some effort for itself, some for each work-item of the launch, and most for those that go on.
        """
        self._end(self._present)
        effort, turn = 0, effort_of_a_turn(self._present.size)
        while not self._ended.all():
            able = ~(self._ended | self._waits | self._blocked)
            if not able.any():
                awaited = np.where(self._owed.owing, self._owed.places, self._places)
                raise convergence.waiting(self.prepared.code, awaited, ~self._ended, self._present)
            members = self.turns.next(able, self._places)
            self.taken += members
            effort += turn + int(np.count_nonzero(members))
            if most is not None and effort > most:
                break
            self._step(members)
        return effort

    def _step(self, members: np.ndarray) -> None:
        place = int(self._places[members][0])
        step = self.prepared.code.steps[place]
        members = self._unhindered(step, members)
        if not members.any():
            return
        self._memory.tick()
        match step:
            case GroupFunction():
                self._arrive(step, place, members)
                return
            case Straight():
                self._compute(place, members)
            case AccessStep():
                self._access(step, members)
            case Fence():
                self._fence(step, self._masked(step.where, members))
        self._notify(place, members)
        self._advance(members, self._targets(step, place, members))

    def _targets(self, step: Any, place: int, members: np.ndarray) -> Any:
        if not isinstance(step, Branch):
            return place + 1
        number = self.elements(step.number, ())[members][:, 0].astype(np.int64)
        chosen = np.clip(number, 0, len(step.targets) - 1)
        if step.loop is not None:
            able = ~(self._ended | self._waits | self._blocked)
            self._rounds.count(place, step.loop, members, chosen > 0, able, self._state)
        return np.asarray(step.targets)[chosen]

    def _state(self) -> tuple[bytes, ...]:
        """All that work-items and memories hold."""
        arrays = [*self._values.values(), *(contents.cells for contents in self.memories.values()), self._ended]
        return tuple(array.tobytes() for array in arrays)

    def _advance(self, members: np.ndarray, targets: Any) -> None:
        self._places[members] = self.prepared.onward[targets]
        self._waits[members] = False
        self._end(members)

    def _end(self, members: np.ndarray) -> None:
        """Of work-items those that have passed the last step end; all that they have stored is seen then."""
        there = members & (self._places == len(self.prepared.code.steps))
        if not there.any():
            return
        self._blocked |= there & self._owed.owing
        there &= ~self._blocked
        if there.any():
            self._ended |= there
            self._memory.publish(there, self.memories, visibility.DEVICE)

    # Values.

    def _compute(self, place: int, members: np.ndarray) -> None:
        read, written, function = self.prepared.compiled[place]
        if not written:
            return
        results = function([self.value_of(r) for r in read])
        for register, result in zip(written, results, strict=True):
            self._assign(register, members, np.asarray(result)[members])

    def value_of(self, register: Register) -> np.ndarray:
        """`[groups, items, ...]` what each work-item holds of a register."""
        if register.number not in self._values:
            rank = len(self.geometry.local_range) if register.lanewise else 0
            shape = (*self._present.shape, *register.shape[rank:])
            self._values[register.number] = np.zeros(shape, register.dtype)
        return self._values[register.number]

    def _assign(self, register: Register, members: np.ndarray, values: np.ndarray) -> None:
        held = self.value_of(register)
        held[members] = values.reshape(len(values), *held.shape[2:])

    def elements(self, operand: Operand, shape: tuple[int, ...]) -> np.ndarray:
        """`[groups, items, n]` what each work-item gives for its elements of an access, of shape `()` for a scalar."""
        lanes = self._present.shape
        local = self.geometry.local_range
        private = shape[len(local) :]
        count = math.prod(private)
        if isinstance(operand, Register) and operand.lanewise:
            held = self.value_of(operand)
            return np.broadcast_to(held, (*lanes, *private)).reshape(*lanes, count)
        held = (
            self.value_of(operand)
            if isinstance(operand, Register)
            else np.broadcast_to(operand, (*lanes, *operand.shape))
        )
        if held.ndim == 2:
            return np.broadcast_to(held[..., None], (*lanes, count))
        whole = np.broadcast_to(held, (*lanes, *shape))
        items = np.arange(lanes[1])
        place: tuple[Any, ...] = (slice(None), items, *np.unravel_index(items, local))
        return whole[place].reshape(*lanes, count)

    # Memory.

    def _access(self, step: AccessStep, members: np.ndarray) -> None:
        element, inside, active = self.touched(step, members)
        accesses = self._memory.accesses(step, members, element, active & inside)
        values = [self.elements(v, step.access.shape)[members] for v in step.values]
        dtype, old, order = step.memory.dtype, None, np.nonzero(accesses.active)
        if step.op == "load":
            other = values[0] if values else np.zeros((), dtype)
            loaded = np.where(active, np.where(inside, self._memory.load(accesses), poison(dtype)), other)
            assert step.result is not None
            self._assign(step.result, members, loaded)
        elif step.access.ordering is not None:
            old, order = self._memory.update(accesses, [v.astype(dtype) for v in values])
            if step.result is not None:
                self._assign(step.result, members, old)
        elif step.op == "store":
            order = self._memory.store(accesses, values[0].astype(dtype), self._owed.hinders(step.memory, members))
        elif not step.is_hint:
            raise ops.without_rule(step.op, "the stepping of accesses")
        self._memory.end(accesses)
        if self._history is not None and self._history.keeps(step):
            self._keep(accesses, order, values, old)

    def touched(self, step: AccessStep, members: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`[k, n]` elements that work-items access, 0 out of bounds; where they are in bounds; and the mask."""
        shape = step.access.shape
        element, inside = element_of([self.elements(i, shape)[members] for i in step.index], step.memory)
        # A memory of one element without an axis has no index that would tell the work-items.
        element = element if element.ndim else np.zeros((int(members.sum()), 1), np.int64)
        active = np.ones(element.shape, bool)
        if step.where is not None:
            active = self.elements(step.where, shape)[members]
        return element, inside, active

    def _keep(self, accesses: Accesses, order: Lanes, values: Sequence[np.ndarray], old: np.ndarray | None) -> None:
        """Adds an operation to the history; `order` names the lanes that took part, in their order."""
        assert self._history is not None
        step = accesses.step
        if not len(order[0]):
            return
        wrote = np.full(len(order[0]), step.op != "load")
        if step.op == "compare_exchange":
            assert old is not None
            wrote = bits(old[order]) == bits(values[0].astype(old.dtype)[order])
        stored = bits(values[0].astype(step.memory.dtype)[order]) if step.access.ordering is None and values else None
        items = accesses.group * self.geometry.items + accesses.item
        self._history.add(Accessed(step, items[order[0]], accesses.positions[order], wrote, stored))

    def _fence(self, step: Fence, members: np.ndarray) -> None:
        if step.ordering.order in RELEASING:
            self._memory.publish(members, step.memories, visibility.LEVELS[step.ordering.scope])
        if step.ordering.order in ACQUIRING:
            self._memory.acquire(members, step.memories)
        if self._history is not None:
            self._history.add(Fenced(step, np.flatnonzero(members)))

    # Group functions.

    def _arrive(self, step: GroupFunction, place: int, members: np.ndarray) -> None:
        """Work-items wait; those that are the last ones expected let all of their group or sub-group go on."""
        only_orders = step.exchange is None and step.where is None and step.active is None and bool(step.memories)
        if self.turns.manner.late_barriers and step.level == collectives.GROUP and only_orders:
            self._pass_barrier(step, place, members)
            return
        if step.where is not None:
            reached = self._masked(step.where, members)
            self._advance(members & ~reached, place + 1)
            members = reached
        self._waits |= members
        together = (self._waits & (self._places == place)) | ~self._present
        if step.level == collectives.GROUP:
            complete = np.broadcast_to(together.all(axis=1, keepdims=True), together.shape)
        else:
            complete = np.stack([together[:, self._rows == r].all(axis=1) for r in range(self._rows[-1] + 1)], axis=1)
            complete = complete[:, self._rows]
        self._release(step, place, complete & self._waits & (self._places == place))

    def _masked(self, mask: Operand | None, members: np.ndarray) -> np.ndarray:
        """Of work-items those of a mask."""
        if mask is None:
            return members
        return members & self.elements(mask, self.geometry.local_range)[:, :, 0].astype(bool)

    def _release(self, step: GroupFunction, place: int, members: np.ndarray) -> None:
        if not members.any():
            return
        if step.exchange is not None:
            self._compute(place, members)
        active = self._masked(step.active, members)
        if (error := convergence.parted(step, active, members, self._rows)) is not None:
            raise error
        if step.memories:
            level = visibility.GROUP if step.level == collectives.GROUP else visibility.SUB_GROUP
            self._memory.publish(active, step.memories, level)
            self._memory.acquire(active, step.memories)
        if self._history is not None and (step.memories or step.exchange is None) and active.any():
            self._history.add(Synchronised(step, np.flatnonzero(active)))
        self._notify(place, active)
        self._advance(members, place + 1)
        self.turns.redraw()

    # Barriers that work-items go past: only the accesses that they order wait.

    def _pass_barrier(self, step: GroupFunction, place: int, members: np.ndarray) -> None:
        """Work-items go past a barrier, owing it that all others get there."""
        self._memory.publish(members, step.memories, visibility.GROUP)
        complete = self._owed.pass_barrier(place, members, self._present)
        self._advance(members, place + 1)
        if complete.any():
            self._memory.acquire(complete[:, None] & self._present, step.memories)
            freed = self._blocked & complete[:, None]
            self._blocked &= ~freed
            self._end(freed)
            self.turns.redraw()

    def _unhindered(self, step: Any, members: np.ndarray) -> np.ndarray:
        """Of work-items those that no barrier that they have gone past keeps from a step; the others wait for it."""
        if not self._owed.ever:
            return members
        hindered = self._owed.hindered(step, members, bool(self.turns.manner.delay))
        self._blocked |= hindered
        return members & ~hindered


def _present(geometry: Geometry) -> np.ndarray:
    """`[groups, items]` which work-items there are."""
    present = np.ones((geometry.groups, geometry.items), bool)
    for d, size in enumerate(geometry.global_range):
        start = steps.group_ids(geometry, d)[:, None].astype(np.int64) * geometry.local_range[d]
        present &= start + steps.local_ids(geometry, d) < size
    return present
