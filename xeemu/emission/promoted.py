"""Elements of a memory that a loop carries as values: taken out before it, and put back when it is over."""

import dataclasses

import jax
import jax.numpy as jnp

from xeemu.emission import access, access_plans, positions
from xeemu.emission.access_plans import Loading
from xeemu.emission.positions import Lanes, Located, Touched
from xeemu.emission.scalar_promotion import PromotedPlace
from xeemu.emission.values import Buffer, Chunk, Emitted
from xeemu.knowledge import addressing, injectivity
from xeemu.knowledge.addressing import Elements
from xeemu.knowledge.analysis import Known


@dataclasses.dataclass(frozen=True, eq=False)
class Promoted(Buffer):
    """A memory in a loop that uses it at one place only.

    `data` are the elements of the place, `[G, n]`.

    Attributes:
      whole: the memory before the loop; in the loop it is out of reach.
      address: of the elements.
      lanes: of the access by which they are taken out and put back.
    """

    whole: Buffer = dataclasses.field(kw_only=True)
    address: Located = dataclasses.field(kw_only=True)
    lanes: Lanes = dataclasses.field(kw_only=True)


def taken(buffer: Buffer, place: PromotedPlace, indices: list[Emitted], chunk: Chunk) -> Promoted | None:
    """The elements of a place, if each has one user, which is proved to be within bounds.

    Args:
      buffer: the memory before the loop.
      place: where the loop uses it.
      indices: the components of the place's index, as they are in every iteration.
      chunk: the work-groups.
    """
    where = Lanes(Elements(place.access.shape, place.chosen), None)
    private = buffer.space == "private"
    if not where.count or not buffer.elements or (private and not where.all):
        return None
    if not injectivity.distinct(place.address, buffer.space, chunk.geometry, chunk.count):
        return None
    address = positions.locate(buffer, indices, where, chunk)
    if not address.known.proved:
        return None
    lanes = where if private else Lanes(addressing.everyone((where.count,)), None)
    address = address.laid_out(lanes.elements)
    at = Touched(buffer, address, lanes, chunk)
    plan = access_plans.of_load(at.reference(), Loading(stored=buffer.stored), chunk)
    data = access.loaded(access.read(plan, at), lanes, None, True, chunk).values.reshape(chunk.count, -1)
    return Promoted(data, buffer.storage.held_as(data.shape), whole=buffer, address=address, lanes=lanes)


def given_back(held: Promoted, chunk: Chunk) -> Buffer:
    """The memory after the loop."""
    shape, count = held.lanes.shape, held.data.shape[0]
    values = Emitted(Known(True), shape, held.data.dtype, None, held.data.reshape(count, *shape))
    at = Touched(held.whole, held.address, held.lanes, dataclasses.replace(chunk, count=count))
    return access.store(access_plans.of_store(at.reference(), at.chunk), at, values)


def load(held: Promoted, where: Lanes, other: Emitted | None, varying: bool, chunk: Chunk) -> jax.Array:
    """What a load in the loop gives, `[G, *shape]`, or `shape` if it does not vary between groups."""
    values = held.data if varying else held.data[:1]
    return access.filled(values, where, other, varying, chunk)


def store(held: Promoted, value: Emitted, where: Lanes, chunk: Chunk) -> Buffer:
    """The elements after a store in the loop; who is masked out keeps his."""
    new = jnp.broadcast_to(where.array(value, chunk).astype(held.data.dtype), held.data.shape)
    return held.holding(new if where.mask is None else jnp.where(where.mask, new, held.data))
