"""Device: an immutable description of a modelled device, every figure with its source.

A source has a confidence: `H` read in a vendor's own table or in a raw measurement, `M` a third party's measurement or
report, an engineer's comment or a compiler's model, `L` recalled or contradicted elsewhere, `D` derived from others,
`C` chosen by xeemu or by the user. A figure without a source is `None`, and a model that needs it says so.
"""

import dataclasses
import functools
import operator
import os
from collections.abc import Mapping
from typing import Any, Literal

from xeemu.devices import page, values
from xeemu.devices.sources import Source, figures
from xeemu.errors import KernelArgumentError, did_you_mean
from xeemu.language import public


@public.members
@public.constructor
@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Device:
    """A modelled device: what a launch, the occupancy and the cost model need to know of it.

    Immutable and hashable; `dataclasses.replace(device, slm_banks=32)` makes a what-if. Names follow the Xe machine: an
    *Xe core* is a subslice of Gen9, a dual subslice of Xe-LP and an SM of the H200; a *thread* runs one sub-group.
    "Per core" is per Xe core, cycles are of `clock_hz`, and a latency is what a dependent access waits for.

    Attributes:
      name: short id, as `xe.launch(..., device=name)` takes it.
      full_name: marketing name.
      architecture: `gen9`, `xe-lp`, `xe-hpg`, `xe-hpc`, `xe2`, `hopper` or `cpu`.

      sub_group_sizes: the sizes that a kernel may require, ascending.
      default_sub_group_size: the size where a kernel requires none.
      max_work_group_size: work-items.
      local_mem_type: SYCL's query: `local` (dedicated), `global` (an abstraction of global memory) or `none`.
      local_mem_size: SYCL's query: bytes of local memory that one work-group may have; 0 where the type is `none`.
      fp64_native: true if double precision has its own instructions.
      fp64: SYCL's aspect: true if kernels may use double precision; a launch of one that does is refused where they may
        not. Intel's compiler can emulate it where there is none, if it is told to; then it is True.
      fp16, atomic64: likewise, for half precision and for atomic operations on 64 bits.
      private_mem_size: bytes of private memory that one work-item may have, where the device limits it.
      local_mem_variable, private_mem_variable: environment variables that set these sizes (see `in_environment`).

      xe_cores, vector_engines_per_core, threads_per_engine: Xe cores of the device, vector engines (EU) of an Xe core,
        hardware threads of a vector engine.
      grf_bytes_per_thread: register file of a thread in the default (small) mode.
      grf_register_bytes: one register.
      large_grf_factor: in large-GRF mode a thread has so many times the registers, and an engine 1/so many threads.
      grf_granule_bytes: multiple that a thread's registers are rounded up to, where it takes no more than it needs.
      max_registers_per_work_item: 32-bit registers that the instructions can name, where that is the limit.
      max_work_groups_per_core, barrier_registers_per_core: work-groups an Xe core holds, without and with barriers.
      fused_engines: true if pairs of engines run sends in lockstep.

      slm_bytes_per_core: SLM of an Xe core, shared by its resident work-groups.
      slm_sizes_bytes: sizes that a work-group's SLM is rounded up to, ascending.
      slm_granule_bytes: multiple that it is rounded up to, where there is no list of sizes.
      slm_reserved_bytes_per_group: SLM that the system takes for each resident work-group.
      request_lanes: lanes of one memory request; a wider sub-group is split.
      shared_load_words: neighbouring words that a request loads for a whole sub-group, a lane each; `None`: as others.
      slm_banks: banks of the SLM.
      slm_bank_bytes: bytes of a bank that one pass serves.
      slm_same_word_stores_conflict: true if lanes that store to one word take a pass each.
      slm_wide_accesses: how an access wider than a bank is served: by `lane_groups`, so many lanes at a time as need
        `request_lanes` words, or by `components`, the first word of every lane, then the second.
      slm_paired_lanes: a wide load whose lanes i and i ^ p have one address each, for one of these p and all i, serves
        two lane groups at once.
      slm_atomic_bytes: widest arithmetic atomic that the SLM carries out; wider ones are compare-and-exchange loops.
      slm_float_atomics: true if the SLM adds floats; else that too is such a loop.
      slm_shared_increments: true if lanes that add the constant 1 to one word, the result unused, share a pass.
      slm_compare_exchange_passes: passes of a compare-and-exchange for each lane of a bank.
      slm_masked_passes: passes of an access that a sub-group issues with no lane taking part; `None`: none is known.
      slm_barrier_passes: passes of a barrier of a work-group; None: none, as far as is known.
      slm_bytes_per_cycle: peak SLM bandwidth of an Xe core. It exceeds `slm_banks * slm_bank_bytes` where the measured
        bandwidth contradicts the documented bank geometry.
      slm_latency_cycles: of a load without conflicts.

      l1_bytes_per_core: L1 data cache.
      l1_bytes_per_cycle: peak L1 (data port) bandwidth of an Xe core.
      l1_request_cycles: least cycles that a global request takes of its Xe core's L1 for each run of adjacent lines.
      l2_bytes: last-level cache of the device (L3 before Xe-HPG).
      l2_kept_bytes: what the L2 holds of that which does not fit it and is asked for again, if less than its size.
      l2_bytes_per_cycle: peak L2 bandwidth of the device.
      load_lines_per_cycle: lines, each request's counted, that the L2 is asked for by loads in a cycle.
      store_lines_per_cycle: lines that it is asked for by stores.
      store_sectors_per_cycle: sectors that stores fill and the L2 takes in a cycle.
      partial_store_sectors_per_cycle: sectors that stores fill in part, and the L2 takes in a cycle.
      dram_bytes_per_s: peak memory bandwidth.
      dram_page_bytes: bytes of DRAM that are opened together.
      dram_pages_per_cycle: pages that DRAM opens in a cycle.
      dram_banks: banks of DRAM, each of which has one page open; `None` if so many that they do not matter.
      dram_sustained: share of it that streams reach; 0.9 is assumed where it is not known.
      l1_latency_cycles, l2_latency_cycles, dram_latency_cycles: of a hit in the L1, in the L2, of a miss everywhere.
      line_bytes: cache line.
      sector_bytes: part of a line that is moved alone; `None` where a line is not known to be divided.
      dram_access_bytes: least that DRAM moves at once, where it is more than a sector.
      tag_bank_masks: bit k of a line's tag bank is the parity of the bits that its number shares with mask k; each bank
        looks up one line per pass.

      clock_hz: highest clock.
      fp32_flops_per_cycle: of the device; a multiply-add counts two.
      fp64_lanes_per_cycle: work-items of an Xe core whose double-precision operation starts in a cycle.
      fp32_repeated_lanes_per_cycle, fp16_repeated_lanes_per_cycle: likewise, for multiply-adds in single and half
        precision that read a register twice; `None` where they are as others.
      fp16_lanes_per_cycle, int32_lanes_per_cycle: likewise, for half precision; for 32-bit integers, without products.
      int32_multiply_lanes_per_cycle, int64_multiply_lanes_per_cycle: likewise, for products and multiply-adds of them.
      special_lanes_per_cycle: likewise, for roots, exponentials and other transcendental functions.
      shuffle_lanes_per_cycle: likewise, for exchanges inside a sub-group.
      prologue_instructions: that each sub-group executes before those of its kernel; `None`: none, as far as is known.
      argument_instructions: to load an argument that the kernel uses; `None`: instructions take them where they are.
      unrolled_loops: of how many instructions at most the iterations of a loop are of which its compiler carries out
        how many side by side; `None`: of all loops that it unrolls four.
      function_instructions: of its compiler for a function of fp32, and how many of them wait for one another, by the
        operation; `native_` before one of which an approximation will do; `None`, or another: one.
      branching_functions: of these, those with a branch, across which no iterations of a loop are mixed.
      ternary_integers: whether one instruction does any logic of three integers, adds them up, or rotates one; `None`:
        none does, as far as is known.
      longest_unrolled_loop: most iterations of a counted loop that its compiler unrolls; `None`: any number.
      alu_latency_cycles: of an arithmetic instruction whose result the next one uses.
      fp64_latency_cycles, special_latency_cycles, shuffle_latency_cycles: of an instruction on doubles, of a special
        function and of one between lanes, where it is longer.
      send_cycles: cycles that a 32-bit, 16-lane memory message occupies the issue port.
      barrier_latency_cycles: of a work-group barrier, without waiting for late sub-groups.
      fence_latency_cycles: of the fence that a memory order needs, without waiting for what it orders.
      barrier_cycles_per_sub_group: what each sub-group of the work-group adds to it.
      barrier_arrival_cycles: least cycles of an Xe core between two sub-groups that arrive at any of its barriers.
      same_address_atomics_per_cycle, same_address_float_atomics_per_cycle: lanes per cycle of the device that update
        one address of global memory; of sums of floating-point numbers.
      reduced_atomics: true if its compiler reduces first what the lanes put into one 32-bit word (see `reduction`).
      atomic_slice_bytes: consecutive bytes of global memory whose atomics the same unit carries out.
      atomic_slice_sends_per_cycle: updates of a sector per cycle that such a unit takes from different lanes.
      launch_overhead_s: from submission to the end of an empty launch.
      group_dispatch_s, sub_group_dispatch_s: of the dispatcher per work-group; per sub-group, where that is longer.

      sources: a `Source` for every figure that is not `None`. Two devices that differ in it alone are equal.

    Raises:
      KernelArgumentError: a figure is not a positive number, or the figures contradict each other.
    """

    name: str
    full_name: str
    architecture: str

    sub_group_sizes: tuple[int, ...]
    default_sub_group_size: int
    max_work_group_size: int
    local_mem_type: Literal["local", "global", "none"]
    local_mem_size: int
    fp64_native: bool
    fp64: bool | None = None
    fp16: bool | None = None
    atomic64: bool | None = None
    private_mem_size: int | None = None
    local_mem_variable: str | None = None
    private_mem_variable: str | None = None

    xe_cores: int | None = None
    vector_engines_per_core: int | None = None
    threads_per_engine: int | None = None
    grf_bytes_per_thread: int | None = None
    grf_register_bytes: int | None = None
    large_grf_factor: int | None = None
    grf_granule_bytes: int | None = None
    max_registers_per_work_item: int | None = None
    max_work_groups_per_core: int | None = None
    barrier_registers_per_core: int | None = None
    fused_engines: bool | None = None

    slm_bytes_per_core: int | None = None
    slm_sizes_bytes: tuple[int, ...] | None = None
    slm_granule_bytes: int | None = None
    slm_reserved_bytes_per_group: int | None = None
    request_lanes: int | None = None
    shared_load_words: int | None = None
    slm_banks: int | None = None
    slm_bank_bytes: int | None = None
    slm_same_word_stores_conflict: bool | None = None
    slm_wide_accesses: Literal["lane_groups", "components"] | None = None
    slm_paired_lanes: tuple[int, ...] | None = None
    slm_atomic_bytes: int | None = None
    slm_float_atomics: bool | None = None
    slm_shared_increments: bool | None = None
    slm_compare_exchange_passes: int | None = None
    slm_masked_passes: int | None = None
    slm_barrier_passes: int | None = None
    slm_bytes_per_cycle: float | None = None
    slm_latency_cycles: float | None = None

    l1_bytes_per_core: int | None = None
    l1_bytes_per_cycle: float | None = None
    l1_request_cycles: float | None = None
    l1_latency_cycles: float | None = None
    l2_bytes: int | None = None
    l2_kept_bytes: int | None = None
    l2_bytes_per_cycle: float | None = None
    load_lines_per_cycle: float | None = None
    store_lines_per_cycle: float | None = None
    store_sectors_per_cycle: float | None = None
    partial_store_sectors_per_cycle: float | None = None
    l2_latency_cycles: float | None = None
    dram_bytes_per_s: float | None = None
    dram_page_bytes: int | None = None
    dram_pages_per_cycle: float | None = None
    dram_banks: int | None = None
    dram_sustained: float | None = None
    dram_latency_cycles: float | None = None
    line_bytes: int | None = None
    sector_bytes: int | None = None
    dram_access_bytes: int | None = None
    tag_bank_masks: tuple[int, ...] | None = None

    clock_hz: float | None = None
    fp32_flops_per_cycle: float | None = None
    fp64_lanes_per_cycle: float | None = None
    fp32_repeated_lanes_per_cycle: float | None = None
    fp16_repeated_lanes_per_cycle: float | None = None
    fp16_lanes_per_cycle: float | None = None
    int32_lanes_per_cycle: float | None = None
    int32_multiply_lanes_per_cycle: float | None = None
    int64_multiply_lanes_per_cycle: float | None = None
    special_lanes_per_cycle: float | None = None
    shuffle_lanes_per_cycle: float | None = None
    prologue_instructions: int | None = None
    argument_instructions: int | None = None
    ternary_integers: bool | None = None
    longest_unrolled_loop: int | None = None
    unrolled_loops: tuple[tuple[int, int], ...] | None = None
    function_instructions: tuple[tuple[str, int, int], ...] | None = None
    branching_functions: tuple[str, ...] | None = None
    alu_latency_cycles: float | None = None
    fp64_latency_cycles: float | None = None
    special_latency_cycles: float | None = None
    shuffle_latency_cycles: float | None = None
    send_cycles: float | None = None
    barrier_latency_cycles: float | None = None
    fence_latency_cycles: float | None = None
    barrier_cycles_per_sub_group: float | None = None
    barrier_arrival_cycles: float | None = None
    same_address_atomics_per_cycle: float | None = None
    same_address_float_atomics_per_cycle: float | None = None
    reduced_atomics: bool | None = None
    atomic_slice_bytes: int | None = None
    atomic_slice_sends_per_cycle: float | None = None
    launch_overhead_s: float | None = None
    group_dispatch_s: float | None = None
    sub_group_dispatch_s: float | None = None

    sources: tuple[Source, ...] = dataclasses.field(default=(), compare=False)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            self._check_figure(field)
        if self.default_sub_group_size not in self.sub_group_sizes:
            self._refuse(
                f"default_sub_group_size is {self.default_sub_group_size}, which is not among the sub_group_sizes "
                f"{self.sub_group_sizes}"
            )
        if self.dram_sustained is not None and self.dram_sustained > 1:
            self._refuse(f"dram_sustained is {self.dram_sustained}, a share of dram_bytes_per_s; give 1 at most")
        if self.line_bytes is not None and self.sector_bytes is not None and self.line_bytes % self.sector_bytes:
            self._refuse(f"line_bytes is {self.line_bytes}, which sectors of {self.sector_bytes} bytes do not fill")
        if (self.local_mem_size == 0) != (self.local_mem_type == "none"):
            self._refuse(
                f"local_mem_size is {self.local_mem_size} and local_mem_type is {self.local_mem_type!r}; the size is 0 "
                "if and only if the type is 'none'"
            )

    def __hash__(self) -> int:
        """By its name: each launch asks for it, and all figures together take as long as a small launch."""
        return hash(self.name)

    def __repr__(self) -> str:
        """The name and what a user has changed, since a preset has more than forty figures."""
        sourced = {source.field: source.value for source in self.sources}
        figures = {field: getattr(self, field) for field in _figure_names()}
        changed = [f"{field}={value!r}" for field, value in figures.items() if sourced.get(field) != value]
        return f"Device({', '.join([repr(self.name), *changed])})"

    def _repr_html_(self) -> str:
        return page.of_device(self)

    @property
    def threads_per_core(self) -> int | None:
        """Hardware threads of an Xe core, in the small-GRF mode."""
        if self.vector_engines_per_core is None or self.threads_per_engine is None:
            return None
        return self.vector_engines_per_core * self.threads_per_engine

    def largest_work_group(self, local_bytes_per_work_item: int) -> int:
        """The largest work-group whose work-items have so many bytes of local memory each.

        64 KB and 512 bytes per work-item give 128. The result need not be a multiple of a sub-group.

        Args:
          local_bytes_per_work_item: bytes; 0 gives `max_work_group_size`.

        Raises:
          KernelArgumentError: it is negative, not an integer, or over `local_mem_size`.
        """
        try:
            bytes_ = operator.index(local_bytes_per_work_item)
        except TypeError:
            bytes_ = -1
        if not 0 <= bytes_ <= self.local_mem_size:
            raise KernelArgumentError(
                f"{local_bytes_per_work_item!r} bytes of local memory per work-item do not fit {self.name}; give a "
                f"whole number from 0 to {self.local_mem_size}, its local_mem_size"
            )
        return min(self.max_work_group_size, self.local_mem_size // bytes_) if bytes_ else self.max_work_group_size

    def in_environment(self, environ: Mapping[str, str] = os.environ) -> "Device":
        """The device with the memory sizes that the environment sets, as Intel's CPU runtime reads them.

        `CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE` and `CL_CONFIG_CPU_FORCE_PRIVATE_MEM_SIZE` are an integer with the unit B,
        KB, MB or GB (powers of 1024), such as `8MB`, `256KB` or `1024B`: upper case, no space, no fraction. The value
        *sets* the size, as in the runtime, so one below the default lowers the limit. An empty variable counts as not
        set. A device without such variables is returned as it is.

        Raises:
          KernelArgumentError: a variable is not such a size (where the runtime would silently ignore it).
        """
        if not (self.local_mem_variable or self.private_mem_variable):
            return self
        forced: dict[str, Any] = {}
        variables = {"local_mem_size": self.local_mem_variable, "private_mem_size": self.private_mem_variable}
        for field, variable in variables.items():
            if variable and environ.get(variable):
                forced[field] = values.size_bytes(variable, environ[variable])
        if not forced:
            return self
        kept = tuple(source for source in self.sources if source.field not in forced)
        return dataclasses.replace(self, sources=kept + figures("C", "set in the environment", **forced), **forced)

    def source(self, field: str) -> str | None:
        """Where a figure comes from, with its confidence in brackets; `None` if the figure is not known.

        Raises:
          KernelArgumentError: a device has no such figure.
        """
        if field not in _figure_names():
            raise KernelArgumentError(f"a device has no figure {field!r}{did_you_mean(field, _figure_names())}")
        value = getattr(self, field)
        if value is None:
            return None
        source = next((s for s in self.sources if s.field == field), None)
        if source is None:
            return "given without a source [C]"
        where = f"{source.text} [{source.confidence}]"
        return where if source.value == value else f"what-if, instead of {source.value}: {where}"

    def _check_figure(self, field: dataclasses.Field[Any]) -> None:
        if (wrong := values.wrong(field, getattr(self, field.name))) is not None:
            self._refuse(wrong)

    def _refuse(self, why: str) -> None:
        raise KernelArgumentError(f"device {self.name!r}: {why}")


@functools.cache
def _figure_names() -> tuple[str, ...]:
    identity = ("name", "full_name", "architecture", "sources")
    return tuple(field.name for field in dataclasses.fields(Device) if field.name not in identity)
