"""Memory orders and scopes, and which of them an operation takes (SYCL 2020, sections 3.8.3 and 4.15.3)."""

import dataclasses

from xeemu.language import source, spelling

ORDERS = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")
LOAD_ORDERS = ("relaxed", "acquire", "seq_cst")
STORE_ORDERS = ("relaxed", "release", "seq_cst")
RELEASING = frozenset({"release", "acq_rel", "seq_cst"})
ACQUIRING = frozenset({"acquire", "acq_rel", "seq_cst"})

SCOPES = ("work_item", "sub_group", "work_group", "device", "system")
"""From the narrowest to the widest."""


@dataclasses.dataclass(frozen=True)
class Ordering:
    """Memory order and scope of an atomic operation or a fence."""

    order: str
    scope: str

    def __str__(self) -> str:
        return f"{self.order}/{self.scope}"


def ordering(order: str, scope: str) -> Ordering:
    """A checked pair of SYCL memory order and scope."""
    if order not in ORDERS:
        meant = spelling.meant(order, ORDERS, {})
        raise source.kernel_error(f"memory order {order!r}{meant} is none of {', '.join(ORDERS)}")
    if scope not in SCOPES:
        meant = spelling.meant(scope, SCOPES, spelling.SCOPE)
        raise source.kernel_error(f"memory scope {scope!r}{meant} is none of {', '.join(SCOPES)}")
    return Ordering(order, scope)
