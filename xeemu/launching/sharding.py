"""Sharding: a launch divided over the devices of a mesh, and what each of them has written put together.

Every device carries out a run of consecutive chunks of work-groups on its own copies of the memories. What a memory is
afterwards follows from how the kernel updates it: plain stores of different devices lie apart, and updates by one
commutative atomic operation add up. Nothing else can be put together.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from xeemu.emission import compiling
from xeemu.emission.bits import bits, of_bits
from xeemu.emission.buffers import PartOrigin
from xeemu.knowledge import symbolic_execution
from xeemu.knowledge.access_tree import AccessTree, MemoryOperation, Node
from xeemu.language import collectives
from xeemu.language.linearity import Allocation
from xeemu.language.source import kernel_error
from xeemu.launching import capacity, iteration_limits, merging, row_ownership
from xeemu.launching.chunk_loops import Share
from xeemu.launching.options import MOST_WATCHED
from xeemu.launching.preparation import Prepared

Combination = Literal["slice"] | merging.Combination

_TOO_LARGE = (
    "Each device has the arguments and the results as a whole: launch a part of the work at a time, on the part of the "
    "arrays that it needs; memory_bytes= bounds what is there to work with"
)


@dataclasses.dataclass(frozen=True)
class Merge:
    """How the copies of a memory become one.

    Attributes:
      memory: the memory.
      combination: `"slice"`: each device has written its own part, as large as the others' along the first axis;
        `"stores"`: elements that have changed; or the atomic operation that has updated it.
      proved: of stores, true if no two devices can have stored to one element.
      own: of slices, true if a device needs none but its own.
    """

    memory: Allocation
    combination: Combination
    proved: bool = True
    own: bool = False


@functools.lru_cache(maxsize=MOST_WATCHED)
def of_launch(prepared: Prepared) -> "Sharded":
    """A prepared launch over the mesh of its options.

    Raises:
      KernelError: what the devices write cannot be put together.
    """
    program, mesh = prepared.program, prepared.options.mesh
    assert mesh is not None
    tree = symbolic_execution.of_program(program, prepared.facts)
    operations = [o for o in tree.root.operations() if o.node.boxes and o.access_site.memory.space == "global"]
    merges = []
    for number in program.outputs:
        memory = prepared.returned[number]
        used = [o for o in operations if o.access_site.memory is memory]
        merges.append(_merge(memory, used, tree, prepared, mesh))
    return Sharded(prepared, mesh, tuple(merges))


def _merge(
    memory: Allocation, used: Sequence[MemoryOperation], tree: AccessTree, prepared: Prepared, mesh: Mesh
) -> Merge:
    updates = [o for o in used if o.changes]
    stores = [o for o in updates if o.name == "store"]
    if len(stores) == len(updates):
        proved = merging.keep_apart(used, tree)
        sliced = proved and _is_sliced(memory, stores, tree, prepared, mesh)
        own = sliced and len(stores) == len(used) and not tree.geometry.ragged and not any(map(_is_partial, stores))
        return Merge(memory, "slice" if sliced else "stores", proved, own)
    for operation in used:
        _check_update(memory, operation, next(o for o in updates if o.name != "store"))
    combination = merging.only_update(used)
    assert combination is not None
    return Merge(memory, combination)


def _is_partial(store: MemoryOperation) -> bool:
    """True if some work-items or groups may take no part, of which it is not asked where they would store to."""
    node: Node | None = store.node
    while node is not None:
        if node.conditions or not node.certain:
            return True
        node = node.parent
    return store.mask is not None


def _check_update(memory: Allocation, operation: MemoryOperation, update: MemoryOperation) -> None:
    """Refuses what depends on the updates of other devices, or cannot be put together with them."""
    name, site = operation.name, operation.access_site.site
    other = "" if site == update.access_site.site else f"\n  at {update.access_site.site}"
    if operation.fetches:
        read = not operation.changes
        what = "is read" if read else f"is updated by {name}, which gives the old value,"
        advice = "" if read else "write an update that gives no old value if it is not used, "
        raise kernel_error(
            f"{memory.name} {what} in a launch over several devices, each of which sees its own updates alone; "
            f"{advice}split the launch, or leave out mesh={other}",
            site,
        )
    if merging.update(operation) is None or merging.update(operation) != merging.update(update):
        raise kernel_error(
            f"{memory.name} is updated by {name} and by {update.name} in a launch over several devices; what they have "
            "written can be put together for plain stores, or for one of add, min, max, and, or, xor; split the "
            f"launch, or leave out mesh={other}",
            site,
        )


# --- Slices ---


def _is_sliced(
    memory: Allocation, stores: Sequence[MemoryOperation], tree: AccessTree, prepared: Prepared, mesh: Mesh
) -> bool:
    """True if each device is known to store to its own part of a memory, of parts of one size."""
    rows, shards = tree.geometry.group_range[0], mesh.size
    # Groups at the ends that are emulated for themselves are a chunk each.
    left = 0 if prepared.cut.first else prepared.cut.remainder
    if left or rows % shards or len(set(np.diff(prepared.cut.shares(shards)))) > 1:
        return False
    own = row_ownership.rows_per_group_row(memory, stores, tree)
    return own is not None and own * rows == memory.shape[0]


# --- The launch ---


@dataclasses.dataclass(frozen=True, eq=False)
class Sharded:
    """A prepared launch over a mesh.

    Attributes:
      prepared: the launch.
      mesh: the devices.
      merges: for each result how the copies become one.
    """

    prepared: Prepared
    mesh: Mesh
    merges: tuple[Merge, ...]

    def run(self, arguments: Sequence[Any], inside_jit: bool) -> list[jax.Array]:
        """The results of a launch's arguments.

        Raises:
          KernelError: two devices have stored different values to one element; or, inside a jit, they might.
        """
        with jax.enable_x64(self.prepared.program.wide):
            if not self.prepared.results_bytes:
                # XLA refuses to divide a computation of which all operands are empty.
                return [jnp.asarray(arguments[k]) for k in self.prepared.program.outputs]
            if inside_jit:
                self._check_proved()
                results, _, given_up = self._emit(*map(jnp.asarray, arguments))
                return results if given_up is None else iteration_limits.poisoned(results, given_up)
            # A computation of its own, even while somebody traces another, of which no argument is a part.
            # Its results are constants there, on one device: the mesh may be none of that computation's.
            gathered = compiling.is_tracing() and jax.process_count() == 1
            with jax.core.eval_context():
                results = self._run(arguments)
                return [jnp.asarray(np.asarray(r)) for r in results] if gathered else results

    def _run(self, arguments: Sequence[Any]) -> list[jax.Array]:
        """The results for arguments as arrays; refuses what does not fit the memory of the devices."""
        self._check_fits(self.prepared.need(_absent_bytes(arguments, self.mesh)))
        placed = [_everywhere(a, self.mesh) for a in arguments]
        working_bytes = self._measured.working_bytes(placed, self.prepared.results_bytes)
        self._check_fits(self.prepared.need(0, working_bytes))
        results, clashes, given_up = self.compiled(*placed)
        if self.prepared.limits.any:
            iteration_limits.check(self.prepared.limits, int(given_up))
        for merge, clash in zip(self.merges, clashes, strict=True):
            if not merge.proved:
                _check_clash(merge.memory, int(clash))
        return results

    @functools.cached_property
    def compiled(self) -> Callable[..., tuple[list[jax.Array], list[jax.Array], Any]]:
        """The launch; a divided result is smaller than its argument on each device, and cannot take its place."""
        numbered = zip(self.prepared.program.outputs, self.merges, strict=True)
        donated = [k for k, merge in numbered if merge.combination != "slice"] if self.prepared.options.donate else ()
        return compiling.compiled(self._emit, self.prepared.compiler_options, donated)

    @functools.cached_property
    def _measured(self) -> capacity.Measured:
        return capacity.Measured(self.compiled)

    def _check_fits(self, need: capacity.Need) -> None:
        """Refuses what does not fit the memory of a device, or the memory that devices of one process share."""
        device = self.mesh.local_devices[0]
        copies = len(self.mesh.local_devices) if self.prepared.options.target.has_system_memory else 1
        capacity.check(need, device, _TOO_LARGE, copies)

    @property
    def _axes(self) -> tuple[str, ...]:
        return tuple(self.mesh.axis_names)

    def _emit(self, *arguments: jax.Array) -> tuple[list[jax.Array], list[jax.Array], jax.Array | None]:
        """The results, of each the first element that two devices changed, or -1, and which loop was given up."""
        specs = [P(self._axes) if merge.combination == "slice" else P() for merge in self.merges]
        sharded = jax.shard_map(
            self._shard, mesh=self.mesh, in_specs=P(), out_specs=(specs, [P()] * len(specs), P()), check_vma=False
        )
        results, clashes, given_up = sharded(*arguments)
        return results, clashes, given_up

    def _shard(self, *arguments: jax.Array) -> tuple[list[jax.Array], list[jax.Array], jax.Array | None]:
        """What one device does."""
        number = lax.axis_index(self._axes)
        parts = list(arguments)
        origins: dict[int, PartOrigin] = {}
        for k, merge in zip(self.prepared.program.outputs, self.merges, strict=True):
            if merge.own:
                parts[k], origins[k] = self._device_part(arguments[k], number), self._origin(arguments[k], number)
        cut = self.prepared.cut
        share = Share(number, cut.bounds(cut.shares(self.mesh.size)), origins)
        results = self.prepared.bounded(parts, share)
        # Any of the devices' loops tells what is wrong.
        given_up = None if not self.prepared.limits.any else lax.pmax(results.pop(), self._axes)
        before = [arguments[k] for k in self.prepared.program.outputs]
        merged = [self._merged(m, b, r, number) for m, b, r in zip(self.merges, before, results, strict=True)]
        return [array for array, _ in merged], [clash for _, clash in merged], given_up

    def _merged(
        self, merge: Merge, before: jax.Array, after: jax.Array, number: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        nowhere = jnp.int32(-1)
        if merge.combination == "slice":
            return after if merge.own else self._device_part(after, number), nowhere
        if merge.combination == "stores":
            return self._merged_stores(merge, before, after)
        if merge.combination == "add":
            return before + lax.psum(after - before, self._axes), nowhere
        if merge.combination in ("min", "max"):
            return self._chosen(merge.combination, after), nowhere
        return merging.merged(merge.combination, before, list(lax.all_gather(after, self._axes))), nowhere

    def _chosen(self, combination: str, after: jax.Array) -> jax.Array:
        """The least or the greatest of what each device has, or NaN if one has that, which collectives may drop."""
        collective = lax.pmin if combination == "min" else lax.pmax
        if not jnp.issubdtype(after.dtype, jnp.floating):
            return collective(after, self._axes)
        missing = jnp.isnan(after)
        of_numbers = collective(jnp.where(missing, collectives.identity(combination, after.dtype), after), self._axes)
        return jnp.where(lax.pmax(missing.astype(np.int8), self._axes) > 0, after.dtype.type(np.nan), of_numbers)

    def _device_part(self, array: jax.Array, number: jax.Array) -> jax.Array:
        """A device's part of an array, along its first axis."""
        size = array.shape[0] // self.mesh.size
        return lax.dynamic_slice_in_dim(array, number * size, size)

    def _origin(self, array: jax.Array, number: jax.Array) -> PartOrigin:
        """Where a device's part begins."""
        dtype, size = np.int32 if array.size < 2**31 else np.int64, array.shape[0] // self.mesh.size
        return PartOrigin(number.astype(dtype) * dtype(size), size)

    def _merged_stores(self, merge: Merge, before: jax.Array, after: jax.Array) -> tuple[jax.Array, jax.Array]:
        """What has changed on any device; the changes are added up as integers, so that no bit is lost."""
        old, new = bits(before), bits(after)
        if merge.proved:
            return of_bits(old + lax.psum(new - old, self._axes), before), jnp.int32(-1)
        changed = new != old
        # Devices that have stored one value to an element agree; elements that none has changed stay.
        low = lax.pmin(jnp.where(changed, new, ~jnp.zeros_like(new)), self._axes)
        high = lax.pmax(jnp.where(changed, new, jnp.zeros_like(new)), self._axes)
        ever = lax.pmax(changed.astype(np.int8), self._axes) > 0
        differ = (ever & (low != high)).reshape(-1)
        clash = jnp.where(differ.any(), jnp.argmax(differ), -1)
        merged = jnp.where(ever, high, old)
        return of_bits(merged, before), clash

    def _check_proved(self) -> None:
        for memory in (merge.memory for merge in self.merges if not merge.proved):
            raise kernel_error(
                f"inside a jit, a launch over several devices must be known to keep their stores apart, but where "
                f"{memory.name} is stored to depends on data; call it outside, or leave out mesh=",
                memory.site,
            )


def _check_clash(memory: Allocation, element: int) -> None:
    """Refuses that devices have stored different values to an element of a memory; -1 is none."""
    if element >= 0:
        index = ", ".join(str(int(n)) for n in np.unravel_index(element, memory.shape))
        raise kernel_error(
            f"two devices have stored different values to {memory.name}[{index}], so that the result depends on "
            "their order: a data race between work-groups; xe.check tells between which lines",
            memory.site,
        )


def _absent_bytes(arguments: Sequence[Any], mesh: Mesh) -> int:
    """The size of the arguments that are not on all devices of a mesh yet."""
    target = NamedSharding(mesh, P())
    arrays = [x for x in arguments if isinstance(x, jax.Array | np.ndarray)]
    there = [x for x in arrays if isinstance(x, jax.Array) and x.sharding.is_equivalent_to(target, x.ndim)]
    return sum(x.nbytes for x in arrays) - sum(x.nbytes for x in there)


def _everywhere(argument: Any, mesh: Mesh) -> jax.Array:
    """An argument on all devices of a mesh; each of several processes is given the same."""
    target = NamedSharding(mesh, P())
    if jax.process_count() == 1 or (isinstance(argument, jax.Array) and not argument.is_fully_addressable):
        return jax.device_put(argument, target)
    # `device_put` would compare the processes' values, and find that NaN differs from NaN.
    array = np.asarray(jnp.asarray(argument))
    return jax.make_array_from_callback(array.shape, target, lambda index: array[index])
