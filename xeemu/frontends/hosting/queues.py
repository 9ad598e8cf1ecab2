"""Queues: commands of a program of the host, with the events that they wait for."""

import dataclasses
from typing import Any

from xeemu.devices.device import Device
from xeemu.frontends import types
from xeemu.frontends.hosting.machine import Machine
from xeemu.frontends.hosting.memories import Cells, Memory
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.tree import Place

END = 2
"""The number by which our headers ask for the time at which a command has ended."""


@dataclasses.dataclass(eq=False)
class Command:
    """What is submitted to a queue at once.

    Attributes:
      number: its event's.
      queue: its queue's.
      place: where it is submitted.
      waits: the events that it depends on.
      uses: the memories of its accessors.
      launched: the kernels that it has launched, each with its `time_s`.
    """

    number: int
    queue: Any
    place: Place
    waits: set[int] = dataclasses.field(default_factory=set)
    uses: list[Memory] = dataclasses.field(default_factory=list)
    launched: list[Any] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(eq=False)
class Queues:
    """The queues of a program; the intrinsics that go to them are its methods.

    Attributes:
      machine: that runs the program.
      device: which is asked for its properties.
      commands: in the order of submission; command n has the event n + 1.
      open: the command that is being put together.
    """

    machine: Machine
    device: Device
    commands: list[Command] = dataclasses.field(default_factory=list)
    open: list[Command] = dataclasses.field(default_factory=list)
    in_order: list[bool] = dataclasses.field(default_factory=list)

    def new_queue(self, in_order: Any) -> int:
        self.in_order.append(bool(in_order) if in_order is not UNKNOWN else True)
        return len(self.in_order) - 1

    def begin_command(self, queue: Any) -> None:
        self.open.append(Command(0, queue, self.machine.place))

    def command_depends(self, event: Any) -> None:
        if self.open and event is not UNKNOWN:
            self.open[-1].waits.add(event)

    def command_uses(self, memory: Any, size: Any, mode: Any) -> None:
        if self.open and memory is not UNKNOWN and memory[0] is not None:
            self.open[-1].uses.append(memory[0])

    def end_command(self) -> int:
        command = self.open.pop() if self.open else Command(0, UNKNOWN, self.machine.place)
        self.commands.append(command)
        command.number = len(self.commands)
        return command.number

    def wait_event(self, event: Any) -> None:
        pass

    def wait_queue(self, queue: Any) -> None:
        pass

    def wait_memory(self, memory: Any) -> None:
        pass

    def write_back(self, memory: Any, target: Any, size: Any) -> None:
        pass

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
        text = {0: self.device.full_name, 1: "Intel(R) Corporation", 2: "1.0", 3: "3.0", 70: "xeemu"}.get(which, "")
        made = Cells(len(text) + 1)
        made.element = types.CHAR
        made.cells.update(enumerate([*text.encode("latin-1", "replace"), 0]))
        return made, 0


def _information(device: Device) -> dict[int, int]:
    """The answers to SYCL's questions, by their numbers in our headers."""
    cores, engines = device.xe_cores or 1, device.vector_engines_per_core or 1
    local_type = {"none": 0, "local": 1, "global": 2}.get(device.local_mem_type, 1)
    return {
        10: cores * engines, 11: device.max_work_group_size, 12: device.local_mem_size, 13: 1 << 36, 14: 1 << 34,
        15: int((device.clock_hz or 1e9) / 1e6), 16: device.max_work_group_size // min(device.sub_group_sizes),
        17: 1 << 26, 18: 64, 19: device.default_sub_group_size, 20: 0x8086, 21: 64, 22: 1024, 23: 3, 24: 1 << 32,
        25: 2048, 26: 1, 27: 1, 28: 64, 29: 0, 31: local_type, 32: 2, 40: 0, 41: 1, 80: 1, 90: 16, 91: 1,
        92: cores, 93: engines, 94: device.threads_per_engine or 1,
        100: sum(set(device.sub_group_sizes)),
    }  # fmt: skip
