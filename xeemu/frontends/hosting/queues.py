"""Queues: commands of a program of the host, with the events that they wait for."""

import dataclasses
from typing import Any

from xeemu.devices.device import Device
from xeemu.frontends.hosting import buffers, words
from xeemu.frontends.hosting.buffers import Buffers
from xeemu.frontends.hosting.machine import Machine
from xeemu.frontends.hosting.memories import Memory
from xeemu.frontends.hosting.ordering import BlockingAccessor, Command, CommandAccess, CommandOrder, Discard
from xeemu.frontends.hosting.unknowns import UNKNOWN

END = 2
"""The number by which our headers ask for the time at which a command has ended."""
_READ, _DISCARD_WRITE = 0, 3
"""Modes of accessors, by their numbers in our headers."""


@dataclasses.dataclass(eq=False)
class Queues:
    """The queues of a program; the intrinsics that go to them are its methods.

    Attributes:
      machine: that runs the program.
      device: which is asked for its properties.
      ordering: the commands.
      open: the commands that are being put together.
      in_order: true of each queue that is in order.
      contexts: how many the program has made; 0 is the platform's.
      buffers: the memories that buffers have.
    """

    machine: Machine
    device: Device
    ordering: CommandOrder = dataclasses.field(default_factory=lambda: CommandOrder(lambda a, b: None))
    open: list[Command] = dataclasses.field(default_factory=list)
    in_order: list[bool] = dataclasses.field(default_factory=list)
    contexts: int = 0
    buffers: Buffers = dataclasses.field(default_factory=Buffers)

    @property
    def commands(self) -> list[Command]:
        return self.ordering.commands

    def new_queue(self, in_order: Any) -> int:
        self.in_order.append(bool(in_order) if in_order is not UNKNOWN else True)
        return len(self.in_order) - 1

    def new_context(self) -> int:
        self.contexts += 1
        return self.contexts

    def begin_command(self, queue: Any) -> None:
        self.open.append(Command(0, queue, self.machine.place))
        for memory in self.machine.shared:
            memory.watch = self.machine.on_access

    def command_depends(self, event: Any) -> None:
        if self.open and event is not UNKNOWN:
            self.open[-1].before.add(event)

    def command_uses(self, memory: Any, size: Any, mode: Any) -> None:
        if self.open and memory is not UNKNOWN and memory[0] is not None:
            self.open[-1].uses.append((memory[0], mode != _READ))
            if mode != _DISCARD_WRITE:
                self.open[-1].needed.add(memory[0])
            self.open[-1].blocked = self.open[-1].blocked or self._blocked(memory[0], mode != _READ)

    def discard(self, pointer: Any, size: Any) -> None:
        """The contents of some memory are of no use to the accessor that is made: of a command, else of the host."""
        memory = buffers.known(pointer)
        if memory is None or not self.machine.strict:
            return
        one = Discard(memory, pointer[1], size, self.machine.place)
        if self.open:
            self.open[-1].discards.append(one)
        else:
            self._apply(one)

    def discard_all(self) -> None:
        """Forgets what is of no use to any accessor of the command that is put together, before it runs."""
        command = self.open[-1]
        for one in command.discards:
            if one.memory not in command.needed:
                self._apply(one)
        command.discards.clear()

    def _apply(self, one: Discard) -> None:
        one.apply()
        self.machine.discarded = one.place

    def end_command(self) -> int:
        command = self.open.pop() if self.open else Command(0, UNKNOWN, self.machine.place)
        known = isinstance(command.queue, int) and command.queue < len(self.in_order)
        if self.machine.strict:
            for access in command.accesses:
                blocked = command.blocked is not None and command.blocked.memory is access.memory
                self.buffers.used(access, blocked)
                if blocked:
                    words.watch(access.memory, self.machine.on_access)
            self.ordering.close(command, known and self.in_order[command.queue])
        else:
            self.commands.append(command)
            command.number = len(self.commands)
        return command.number

    def wait_event(self, event: Any) -> None:
        if event is not UNKNOWN:
            self._wait({event})

    def wait_queue(self, queue: Any) -> None:
        self._wait(self.ordering.of_queue(queue))

    def wait_memory(self, memory: Any) -> None:
        if memory is not UNKNOWN and memory[0] is not None:
            self._wait(self.ordering.using(memory[0]))

    def _wait(self, numbers: set[int]) -> None:
        """Waits for commands, unless one of them waits for a host accessor that there still is."""
        for number in numbers if self.machine.strict else ():
            command = self.commands[number - 1] if 0 < number <= len(self.commands) else None
            if command is not None and command.blocked is not None and number not in self.ordering.done:
                self._check_hang(command, command.blocked)
        self.ordering.wait(numbers)

    def _check_hang(self, command: Command, blocked: BlockingAccessor) -> None:
        if self._blocked(blocked.memory, blocked.writes) is not None:
            raise self.machine.refuse(
                f"the program hangs here: it waits for the command of line {command.place.line}, which waits for the "
                f"end of the host accessor of line {blocked.place.line}; end that accessor's scope before the wait"
            )

    def _blocked(self, memory: Memory, writes: bool) -> BlockingAccessor | None:
        place = self.buffers.viewed(memory, writes)
        return None if place is None else BlockingAccessor(memory, writes, place)

    def hold(self, pointer: Any, size: Any) -> None:
        """A buffer begins that has the host's memory, all of it, till it ends."""
        memory = buffers.known(pointer)
        if self.machine.strict and memory is not None and pointer[1] == 0 and memory.size == size:
            self.buffers.begin(memory, self.machine.place)
            words.watch(memory, self.machine.on_access)

    def release(self, pointer: Any) -> None:
        """A buffer ends: it waits for the commands that use it."""
        memory = buffers.known(pointer)
        if memory is not None and self.machine.strict and self.buffers.end(memory):
            self._wait(self.ordering.using(memory))
            words.watch(memory, None)

    def view(self, pointer: Any, mode: Any) -> None:
        """A host accessor begins: it waits for the commands that use the buffer."""
        self.wait_memory(pointer)
        memory = buffers.known(pointer)
        if memory is not None and self.machine.strict:
            self.buffers.view(memory, self.machine.place, mode != _READ)
            words.watch(memory, None)

    def end_view(self, pointer: Any, mode: Any) -> None:
        memory = buffers.known(pointer)
        if memory is not None and self.machine.strict:
            self.buffers.end_view(memory, mode != _READ)
            words.watch(memory, self.machine.on_access if self.buffers.is_held(memory) else None)

    def touch(self, memory: Memory, writes: bool) -> CommandAccess | None:
        """An access by the host's code; a command's, where one is put together. Gives the access that conflicts."""
        if not self.open:
            return self.ordering.pending(memory, writes)
        accesses = self.open[-1].accesses
        if not any(a.memory is memory and a.writes >= writes for a in accesses):
            accesses.append(CommandAccess("", "a copy, fill or host task", self.machine.place, memory, writes))
            if self.machine.strict:
                words.watch(memory, self.machine.on_access)
        return None

    def profiled(self, event: Any, what: Any) -> Any:
        """The time, in nanoseconds, at which a command has begun or ended, the commands one after the other."""
        if UNKNOWN in (event, what) or not self.machine.strict or not 0 < event <= len(self.commands):
            return UNKNOWN
        before = sum(self._duration(c) for c in self.commands[: event - 1])
        return round(before + (self._duration(self.commands[event - 1]) if what == END else 0))

    def _duration(self, command: Command) -> float:
        return sum((launched.time_s or 0) * 1e9 for launched in command.launched)

    def device_info(self, which: Any) -> Any:
        return UNKNOWN if which is UNKNOWN else _information(self.device).get(which, 0)

    def device_text(self, which: Any) -> Any:
        name, vendor = self.device.full_name, "Intel(R) Corporation"
        text = {0: name, 1: vendor, 2: "1.0", 3: "3.0", 70: "xeemu, as Level-Zero"}.get(which, "")
        return self.machine.text(text)


def _information(device: Device) -> dict[int, int]:
    """The answers to SYCL's questions, by their numbers in our headers."""
    cores, engines = device.xe_cores or 1, device.vector_engines_per_core or 1
    local_type = {"none": 0, "local": 1, "global": 2}.get(device.local_mem_type, 1)
    return {
        10: cores * engines, 11: device.max_work_group_size, 12: device.local_mem_size, 13: 1 << 36, 14: 1 << 34,
        15: int((device.clock_hz or 1e9) / 1e6), 16: device.max_work_group_size // min(device.sub_group_sizes),
        17: 1 << 26, 18: 64, 19: device.default_sub_group_size, 20: 0x8086, 21: 64, 22: 1024, 23: 3, 24: 1 << 32,
        25: 2048, 26: 1, 27: 1, 28: 64, 29: 0, 31: local_type, 32: 2, 40: 0, 41: 1, 80: 1, 81: 0, 90: 16, 91: 1,
        92: cores, 93: engines, 94: device.threads_per_engine or 1,
        100: sum(set(device.sub_group_sizes)),
    }  # fmt: skip
