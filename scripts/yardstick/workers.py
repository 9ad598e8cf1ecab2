"""Workers: processes that take kernels through xeemu, each with a limit of time, replaced where one dies."""

import dataclasses
import json
import os
import pathlib
import queue
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

STARTING = 120  # seconds
ENDING = 5  # seconds for a process that closed its output
FRESH = 60  # kernels that a process takes before another begins: compiled code and constants pile up


@dataclasses.dataclass(frozen=True)
class Order:
    """A kernel to run."""

    suite: str
    key: str
    check: bool
    speed: bool
    kept: bool = False


class Worker:
    """One process, started when it is first needed."""

    def __init__(self, command: Sequence[str], errors: pathlib.Path):
        self._command, self._errors = command, errors
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: Lines | None = None
        self._taken = 0

    def run(self, order: Order, limit: float) -> dict[str, Any]:
        """The outcome of a kernel; of one that took too long or took the process with it, how far it came."""
        stage = "start"
        found: dict[str, Any] = {"seconds": {}}
        try:
            lines = self._ask(order)
            deadline = time.monotonic() + limit
            while line := lines.next(deadline):
                told = json.loads(line)
                if "done" in told:
                    return told["done"]
                stage = told.get("stage", stage)
                found |= told.get("found", {})
        except TimeoutError:
            self.stop()
            return found | {"failed": stage, "error": "slow", "message": f"no result in {limit:.0f} s"}
        except BrokenPipeError:
            pass
        code = self.stop(ENDING)
        return found | {"failed": stage, "error": "crash", "message": f"the process ended with {code}"}

    def stop(self, grace: float = 0) -> int:
        """Ends the process, after some seconds in which it may end by itself; gives its exit code."""
        if self._process is None:
            return 0
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self._process.kill()
        code = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process = None
        return code

    def _ask(self, order: Order) -> "Lines":
        if self._process is not None and self._taken >= FRESH:
            self.stop()
        if self._process is None or self._lines is None:
            self._start()
        self._taken += 1
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._lines is not None
        self._process.stdin.write(json.dumps(dataclasses.asdict(order)).encode() + b"\n")
        self._process.stdin.flush()
        return self._lines

    def _start(self) -> None:
        self._taken = 0
        with open(self._errors, "a") as errors:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, bufsize=0
            )
        assert self._process.stdout is not None
        self._lines = Lines(self._process.stdout.fileno())
        self._lines.next(time.monotonic() + STARTING)  # {"ready": true}


class Lines:
    """The lines of a pipe, each waited for until a deadline."""

    def __init__(self, file: int):
        self._file, self._rest = file, b""

    def next(self, deadline: float) -> str:
        """The next line, or "" at the end.

        Raises:
          TimeoutError: if none came in time.
        """
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._file], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise TimeoutError
            read = os.read(self._file, 1 << 16)
            if not read:
                return ""
            self._rest += read
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode()


def run(
    orders: Sequence[Order], command: Sequence[str], jobs: int, limit: float, errors: pathlib.Path
) -> Iterator[tuple[Order, dict[str, Any]]]:
    """The outcomes, in the order in which they are reached."""
    waiting: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[Order, dict[str, Any]]] = queue.SimpleQueue()
    for order in [*orders, *[None] * jobs]:
        waiting.put(order)

    def work() -> None:
        worker = Worker(command, errors)
        while (order := waiting.get()) is not None:
            done.put((order, outcome_of(worker, order, limit)))
        worker.stop()

    for _ in range(jobs):
        threading.Thread(target=work, daemon=True).start()
    for _ in orders:
        yield done.get()


def outcome_of(worker: Worker, order: Order, limit: float) -> dict[str, Any]:
    try:
        return worker.run(order, limit)
    except (TimeoutError, OSError, ValueError) as error:
        worker.stop()
        return {"failed": "start", "error": "crash", "message": f"{type(error).__name__}: {error}", "seconds": {}}


def command(script: str, corpus: pathlib.Path) -> list[str]:
    return [sys.executable, script, "--subject", str(corpus)]
