"""Bank map: what each bank serves in one execution of an access to local memory, request by request.

The rows must not be added up: over all requests every bank may serve as much, and each request still wait for one bank.
"""

import dataclasses

import numpy as np

from xeemu.devices import banks
from xeemu.devices.device import Device

STEPS = ((1, "1: no conflict"), (2, "2"), (3, "3 to 4"), (5, "5 to 8"), (9, "9 to 16"), (17, "17 and more"))
"""The scale of all pictures of banks: of each step the least number of words, and what a legend says."""

_MOST_ROWS = 64
_SYMBOLS = "." + "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclasses.dataclass(frozen=True)
class BankMap:
    """One execution of an access by a work-group.

    Attributes:
      banks: number of banks.
      bank_bytes: bytes of a bank that one pass serves.
      width_bytes: bytes that a lane accesses.
      addresses: for each instruction of a sub-group the first byte of each lane, None for a lane that takes no part.
      rows: for each request, or the part of it that is served at once, what each bank has to serve: different words, or
        lanes where they take turns. A row takes as many passes as its greatest number.
      left_out: rows beyond the first ones, which are not here.
      places: for each row the number of its request and that of the part of the request which is served at once.
      part: what such a part is, `"component"` of a vector or `"lane group"`; empty where requests are served whole.
    """

    banks: int
    bank_bytes: int
    width_bytes: int
    addresses: tuple[tuple[int | None, ...], ...]
    rows: tuple[tuple[int, ...], ...]
    left_out: int
    places: tuple[tuple[int, int], ...] = ()
    part: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """For each row its request, and the part of it."""
        places = self.places or tuple((row, 0) for row in range(len(self.rows)))
        return tuple(f"{request}, {self.part} {part}" if self.part else str(request) for request, part in places)

    def lines(self, most: int = 8) -> list[str]:
        """The map as text, a line for each of the first rows."""
        shown = [f"|{''.join(map(_symbol, row))}| {max(row)}" for row in self.rows[:most]]
        hidden = len(self.rows) - len(shown) + self.left_out
        return shown + ([f"{hidden} more"] if hidden else [])


def draw(addresses: np.ndarray, active: np.ndarray, device: Device, width_bytes: int, kind: banks.Kind) -> BankMap:
    """The bank map of an execution.

    Args:
      addresses: `[Q, S]` first byte of each lane of each instruction of a sub-group.
      active: `[Q, S]` which lanes take part.
      device: the modelled device, whose banks are known.
      width_bytes: bytes that a lane accesses.
      kind: what the access does.
    """
    assert device.slm_banks is not None
    assert device.slm_bank_bytes is not None
    counts = banks.bank_counts(addresses[:_MOST_ROWS], active[:_MOST_ROWS], device, width=width_bytes, kind=kind)
    per_instruction = counts.shape[-2]
    parts, part = banks.parts(device, width_bytes, addresses.shape[-1])
    used = counts.reshape(-1, parts, device.slm_banks)
    used = used[used.any((-2, -1))]
    places = np.argwhere(used.any(-1))[:_MOST_ROWS]
    rows = used[used.any(-1)]
    return BankMap(
        banks=device.slm_banks,
        bank_bytes=device.slm_bank_bytes,
        width_bytes=width_bytes,
        addresses=tuple(
            tuple(int(a) if on else None for a, on in zip(row, mask, strict=True))
            for row, mask in zip(addresses[:_MOST_ROWS], active[:_MOST_ROWS], strict=True)
        ),
        rows=tuple(tuple(map(int, row)) for row in rows[:_MOST_ROWS]),
        left_out=max(0, len(rows) - _MOST_ROWS) + per_instruction * max(0, len(addresses) - _MOST_ROWS),
        places=tuple((int(request), int(number)) for request, number in places),
        part=part,
    )


def step(words: int) -> int:
    """The step of the scale that so many words of a bank are on, from 0; -1 of none."""
    return sum(words >= least for least, _ in STEPS) - 1


def _symbol(count: int) -> str:
    return _SYMBOLS[count] if count < len(_SYMBOLS) else "*"
