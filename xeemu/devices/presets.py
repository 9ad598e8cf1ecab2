"""Presets: the modelled devices that have names, as figures with their sources."""

from typing import NamedTuple

from xeemu.devices.architectures import B60, GUIDE, H200, KB, MB, NEO, OPENCL_BENCHMARK, PRODUCT, RECALLED, lanes
from xeemu.devices.sources import Source, figures


class Preset(NamedTuple):
    """A device with a name.

    Attributes:
      name: short id.
      full_name: marketing name.
      architecture: a key of `ARCHITECTURES`, whose figures it has too.
      own: its own figures.
    """

    name: str
    full_name: str
    architecture: str
    own: tuple[Source, ...]


def _preset(name: str, full_name: str, architecture: str, *own: Source) -> Preset:
    return Preset(name, full_name, architecture, own)


# 2**28 stores of a lane each touch a line of their own, in 2.693 ms; taken to reach the L2 one by one. Where the
# compiler merges four neighbours into a message, which the driver of that day may, a quarter would do.
_B580_L2 = f"misaligned writes of {OPENCL_BENCHMARK} on a B580, for each Xe core"
_L2_OF_CORE = 2**28 * 64 / 2.693e-3 / (20 * 2.85e9)

_DDR4 = "DDR4 in Ramulator 2, of JESD79-4C: 16 banks, pages of 1 KB in each of eight chips, four opened in 21.6 ns"
_COURSE = "sums (GPGPUCourse/GPGPUTasks2023 pull request"


def _dispatched(time_s: float) -> dict[str, float]:
    """What a sub-group takes of the dispatcher, where 781,250 groups of eight take some time in all."""
    each = time_s / 781_250 / 8
    return {"group_dispatch_s": each, "sub_group_dispatch_s": each}


_OF_A770 = "clpeak on an A770 (krrishnarraj/clpeak issue 99): 4766e9 operations/s of multiply-adds"
_OF_A750 = "clpeak on an A750 (AOSC-Dev/aosc-os-abbs pull request 15050): 4945e9 operations/s of multiply-adds"
# Of kernels in the table of `scripts/validate`, which so are no test of these figures.
_ATOMICS = "an H200's times of gatom_red_u32, gatom_red_u64, gatom_add_u32_ret and gatom_minmax_s32"
_SPREAD = "measured on an H200 by sub-groups whose lanes access 32 random lines"
# Sums to 8 to 64 neighbouring words take 0.074 ns per lane, as if one unit took them all; sums to 512 words
# (2 KB) take a quarter of what they take on one word, as if four did.
H200_ATOMIC_SLICE = {"atomic_slice_bytes": 512, "atomic_slice_sends_per_cycle": 1 / (8 * 0.074e-9 * 1.98e9)}

# Of the chip of the H200 and the H100, as an H200 was measured.
_GH100 = (
    *figures(*H200, slm_bytes_per_cycle=128, slm_latency_cycles=23.4),
    *figures(*H200, l1_bytes_per_core=192 * KB, l1_bytes_per_cycle=128, l1_latency_cycles=32),
    *figures(*H200, l2_bytes_per_cycle=7.1e12 / 1.98e9, l2_latency_cycles=281, dram_latency_cycles=672),
    *figures(
        "D",
        "an H200's counters of g_gather: 42 % of 4 Mi loads at random from 64 MiB hit, 17 MB stored",
        l2_kept_bytes=30 * MB,
    ),
    *figures("H", f"{_SPREAD}: loads from 1 MB", load_lines_per_cycle=165 / 1.98),
    *figures("H", f"{_SPREAD}: stores to 4 MB", store_lines_per_cycle=76 / 1.98),
    *figures("M", "HBM3 in Ramulator 2, of JESD238A: a row has 32 columns of 32 bytes", dram_page_bytes=1024),
    *figures(
        "H",
        "measured on an H200; on which kernels is not said, g_scatter and g_stride_st are of the kind",
        store_sectors_per_cycle=145 / 1.98,
        partial_store_sectors_per_cycle=118 / 1.98,
    ),
    *figures(*H200, barrier_latency_cycles=12.8, barrier_cycles_per_sub_group=2.0),
    *figures(
        "H",
        "barriers alone on an H200, 64 sub-groups on an SM: 1.24 to 1.40 cycles each",
        barrier_arrival_cycles=1.25,
    ),
    *figures("H", _ATOMICS, same_address_atomics_per_cycle=1 / (0.733e-9 * 1.98e9)),
    *figures("H", "an H200's times of gatom_red_f32", same_address_float_atomics_per_cycle=1 / (1.756e-9 * 1.98e9)),
    *figures("D", f"{_ATOMICS}: 0.074 ns per lane, eight lanes of a sector", **H200_ATOMIC_SLICE),
    *figures(*H200, fp64_lanes_per_cycle=32 / 0.51, int32_lanes_per_cycle=32 / 0.51, alu_latency_cycles=4.6),
    *figures(*H200, fp64_latency_cycles=8.5, special_latency_cycles=17.5, shuffle_latency_cycles=24.5),
    *figures("M", "as other 32-bit integer operations (CUDA guide, 9.0)", int32_multiply_lanes_per_cycle=32 / 0.51),
    *figures("D", "three 32-bit ones; 2.9 measured on a TITAN Xp", int64_multiply_lanes_per_cycle=32 / 0.51 / 3),
    *figures("M", "CUDA guide, 9.0: as fp32, two in a half2", fp16_lanes_per_cycle=128),
    *figures(*H200, special_lanes_per_cycle=32 / 2.0, shuffle_lanes_per_cycle=32 / 1.0),
    *figures(
        "M",
        "NVIDIA's engineers (developer forum, 165293, 312884): a stage takes a wavefront a cycle, that of the tags "
        "four lines; patterns of 2 to 32 passes take a cycle each; 1.25 with 16 sub-groups on an SM",
        l1_request_cycles=1,
    ),
    *figures(*H200, launch_overhead_s=4.6e-6, group_dispatch_s=0.60e-9),
    *figures("D", "measured on an H200: 0.86 ns per group of 32 sub-groups", sub_group_dispatch_s=0.86e-9 / 32),
)

PRESETS = (
    _preset(
        "hd530",
        "Intel HD Graphics 530",
        "gen9",
        *figures(*NEO, xe_cores=3, l2_bytes=768 * KB, fp32_flops_per_cycle=384),
        *figures("H", "Intel Gen9 whitepaper, 64 B per subslice and cycle", l2_bytes_per_cycle=192),
        *figures("L", "recalled of Intel's Gen9 whitepaper", fp64_lanes_per_cycle=16, fp16_lanes_per_cycle=128),
        *figures("M", PRODUCT, clock_hz=1.15e9),
        *figures("L", "two channels of DDR4-2133", dram_bytes_per_s=34.1e9),
        *figures("M", _DDR4, dram_page_bytes=8 * KB, dram_banks=2 * 16, dram_pages_per_cycle=2 * 4 / 21.6e-9 / 1.15e9),
        *figures("M", "clpeak, Windows", launch_overhead_s=34.2e-6),
        *figures("D", f"{_COURSE} 188) on a UHD 620: 46 ms in two kernels of 781,250 groups", **_dispatched(46e-3)),
    ),
    _preset(
        "iris_xe",
        "Intel Iris Xe Graphics",
        "xe-lp",
        *figures(*NEO, xe_cores=6, l2_bytes=3840 * KB, fp32_flops_per_cycle=1536),
        *figures("M", f"{GUIDE}: 8 banks of 64 bytes per cycle", l2_bytes_per_cycle=512),
        *figures("M", PRODUCT, clock_hz=1.3e9),
        *figures("L", "LPDDR4x; depends on the platform", dram_bytes_per_s=68e9),
        *figures("D", f"{GUIDE}, VectorAdd2 by 48 groups: 42e9 bytes/s", dram_sustained=0.62),
    ),
    _preset(
        "uhd770",
        "Intel UHD Graphics 770",
        "xe-lp",
        *figures("M", PRODUCT, xe_cores=2, fp32_flops_per_cycle=512, clock_hz=1.55e9),
        *figures("L", "two channels of DDR5-4800; depends on the platform", dram_bytes_per_s=76.8e9),
    ),
    _preset(
        "a770",
        "Intel Arc A770 Graphics",
        "xe-hpg",
        *figures("H", PRODUCT, xe_cores=32, fp32_flops_per_cycle=8192, l2_bytes=16 * MB),
        *figures("H", PRODUCT, clock_hz=2.4e9, dram_bytes_per_s=560e9),
        *figures("L", f"{GUIDE}: about 32 x 64 bytes per cycle", l2_bytes_per_cycle=2048),
        *figures("M", "clpeak on an A770 (krrishnarraj/clpeak issue 99): 421e9 bytes/s", dram_sustained=0.75),
        *figures("M", _OF_A770, int32_multiply_lanes_per_cycle=lanes(4766e9, 32, 2.4e9)),
    ),
    _preset(
        "a750",
        "Intel Arc A750 Graphics",
        "xe-hpg",
        *figures("M", PRODUCT, xe_cores=28, fp32_flops_per_cycle=7168, l2_bytes=16 * MB, dram_bytes_per_s=512e9),
        *figures("M", "clpeak's query of the device", clock_hz=2.4e9),
        *figures("L", f"{GUIDE}: about 32 x 64 bytes per cycle", l2_bytes_per_cycle=2048),
        *figures("D", "as that of an A770", dram_sustained=0.75),
        *figures("M", f"{_OF_A750}, by a later driver", int32_multiply_lanes_per_cycle=lanes(4945e9, 28, 2.4e9)),
    ),
    _preset(
        "a380",
        "Intel Arc A380 Graphics",
        "xe-hpg",
        *figures("M", "OpenCL's query of the device (clpeak issue 202)", xe_cores=8, clock_hz=2.45e9),
        *figures("D", "128 engines of 16 operations", fp32_flops_per_cycle=2048),
        *figures(*RECALLED, l2_bytes=4 * MB, dram_bytes_per_s=186e9),
        *figures("M", "clpeak (krrishnarraj/clpeak issue 205): about 122e9 bytes/s", dram_sustained=0.66),
        *figures("D", _OF_A750, int32_multiply_lanes_per_cycle=lanes(4945e9, 28, 2.4e9)),
    ),
    _preset(
        "max1100",
        "Intel Data Center GPU Max 1100",
        "xe-hpc",
        *figures("M", PRODUCT, xe_cores=56, fp32_flops_per_cycle=14336, l2_bytes=108 * MB),
        *figures("M", PRODUCT, clock_hz=1.55e9, dram_bytes_per_s=1229e9),
        *figures("M", f"{OPENCL_BENCHMARK}: 15.929e12 operations/s", fp64_lanes_per_cycle=15.929e12 / 2 / 56 / 1.55e9),
        *figures("D", "as a Max 1550, for each Xe core", l2_bytes_per_cycle=13e12 / 1.6e9 * 56 / 128),
    ),
    _preset(
        "max1550",
        "Intel Data Center GPU Max 1550",
        "xe-hpc",
        *figures("H", PRODUCT, xe_cores=128, fp32_flops_per_cycle=32768, l2_bytes=408 * MB),
        *figures("H", PRODUCT, clock_hz=1.6e9, dram_bytes_per_s=3276.8e9),
        *figures("D", "Hot Chips: 13 TB/s, at 1.6 GHz", l2_bytes_per_cycle=13e12 / 1.6e9),
        *figures("M", "Hot Chips: 52 TFLOPS in fp64 as in fp32", fp64_lanes_per_cycle=128),
    ),
    _preset(
        "max1550_stack",
        "Intel GPU Max 1550, one stack",
        "xe-hpc",
        *figures("D", "half of the two stacks", xe_cores=64, fp32_flops_per_cycle=16384, l2_bytes=204 * MB),
        *figures("D", "half of the two stacks", dram_bytes_per_s=1638.4e9, l2_bytes_per_cycle=13e12 / 1.6e9 / 2),
        *figures("H", PRODUCT, clock_hz=1.6e9),
        *figures("M", "Hot Chips: 52 TFLOPS in fp64 as in fp32", fp64_lanes_per_cycle=128),
    ),
    _preset(
        "arc140v",
        "Intel Arc 140V Graphics",
        "xe2",
        *figures("M", PRODUCT, xe_cores=8, fp32_flops_per_cycle=2048),
        *figures(*RECALLED, l2_bytes=8 * MB, clock_hz=2.05e9, dram_bytes_per_s=136.5e9),
        *figures("D", _B580_L2, l2_bytes_per_cycle=8 * _L2_OF_CORE),
    ),
    _preset(
        "b580",
        "Intel Arc B580 Graphics",
        "xe2",
        *figures("H", PRODUCT, xe_cores=20, fp32_flops_per_cycle=5120, l2_bytes=18 * MB),
        *figures("H", PRODUCT, clock_hz=2.85e9, dram_bytes_per_s=456e9),
        *figures(*B60, launch_overhead_s=6e-6),
        *figures("D", _B580_L2, l2_bytes_per_cycle=20 * _L2_OF_CORE),
        *figures("M", "STREAM in SYCL (alheinecke/ArchBenchSuite pull request 4): 402e9 bytes/s", dram_sustained=0.88),
    ),
    _preset(
        "b570",
        "Intel Arc B570 Graphics",
        "xe2",
        *figures("M", PRODUCT, xe_cores=18, fp32_flops_per_cycle=4608, clock_hz=2.5e9, dram_bytes_per_s=380e9),
        *figures("D", _B580_L2, l2_bytes_per_cycle=18 * _L2_OF_CORE),
        *figures("D", "as that of a B580", dram_sustained=0.88),
    ),
    _preset(
        "b60",
        "Intel Arc Pro B60 Graphics",
        "xe2",
        *figures("M", PRODUCT, xe_cores=20, fp32_flops_per_cycle=5120, clock_hz=2.4e9, dram_bytes_per_s=456e9),
        *figures("D", "the chip of a B580", l2_bytes=18 * MB, dram_sustained=0.88),
        *figures("D", _B580_L2, l2_bytes_per_cycle=20 * _L2_OF_CORE),
        *figures(*B60, launch_overhead_s=6e-6),
    ),
    _preset(
        "b70",
        "Intel Arc Pro B70 Graphics",
        "xe2",
        *figures("M", PRODUCT, xe_cores=32, fp32_flops_per_cycle=8192, clock_hz=2.8e9, dram_bytes_per_s=608e9),
        *figures("D", _B580_L2, l2_bytes_per_cycle=32 * _L2_OF_CORE),
        *figures("D", "as that of a B580", dram_sustained=0.88),
        *figures("M", "measured on an Arc Pro B70 (tinafengfun/intel-b60-microbench)", launch_overhead_s=6.9e-6),
    ),
    _preset(
        "h200",
        "NVIDIA H200 SXM",
        "hopper",
        *figures("H", "NVIDIA product page", xe_cores=132, fp32_flops_per_cycle=33792, l2_bytes=50 * MB),
        *figures("H", "NVIDIA product page", clock_hz=1.98e9, dram_bytes_per_s=4800e9),
        *figures("H", f"{_SPREAD}: loads from 1 GB", dram_pages_per_cycle=40 / 1.98),
        *_GH100,
    ),
    _preset(
        "h100",
        "NVIDIA H100 SXM",
        "hopper",
        *figures("H", "NVIDIA product page", xe_cores=132, fp32_flops_per_cycle=33792, l2_bytes=50 * MB),
        *figures("H", "NVIDIA product page", clock_hz=1.98e9, dram_bytes_per_s=3350e9),
        *figures(
            "D",
            "an H200's rate by stacks of HBM: five for six (NVIDIA product pages)",
            dram_pages_per_cycle=40 * 5 / 6 / 1.98,
        ),
        *_GH100,
    ),
    _preset("cpu", "Intel CPU OpenCL device", "cpu"),
)
