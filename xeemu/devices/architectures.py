"""Architectures: the figures that all devices of a generation have in common, each with its source."""

from xeemu.devices.sources import Source, figures

KB = 1024
MB = 1024 * KB

_CALCULATOR = ("H", "Intel GPU Occupancy Calculator")
NEO = ("H", "NEO (intel/compute-runtime) hardware and capability tables")
_NEO_FP64 = ("H", f"{NEO[1]}, ftrSupportsFP64")
_IGC = ("H", "IGC (intel/intel-graphics-compiler) Platform.hpp")
GUIDE = "Intel oneAPI GPU Optimization Guide"
_NOMINAL = ("H", f"{GUIDE}, memory system of the Max series, nominal")
_SCHEDULER = ("M", "IGC vISA LatencyTable, the compiler's scheduling model for Xe and later")
# Without the instructions that load local ids, which the hardware gives where it can.
_PROLOGUE = figures(
    "M",
    "IGC, vISA's loadThreadPayload: address and load of all arguments; a move before the message that ends the thread",
    prologue_instructions=3,
)
_FENCES = figures("M", f"{_SCHEDULER[1]}: at least, of local memory 23", fence_latency_cycles=35)
PRODUCT = "Intel product page"
RECALLED = ("L", "recalled, no document at hand")
ALCF = "ALCF deep dive (colleeneb/abc-pvc-deepdive)"
B60 = ("M", "measured on an Arc Pro B60 (tinafengfun/intel-b60-microbench)")
_MESA_TIMES = "Mesa brw_ir_performance"
_MACSIM = "MacSim's model of a Skylake GPU (gthparch/macsim, params_intel of 2017; Gera et al., ISPASS 2018)"
_MESA_MATH = "Mesa brw_ir_performance: a vector of 8 lanes takes 4 cycles of an engine's extended math"
OPENCL_BENCHMARK = "ProjectPhysX/OpenCL-Benchmark"
H200 = ("H", "measured on an H200 by micro-benchmarks and hardware counters")
_HOPPER = "NVIDIA Hopper tuning guide"

_SLM_SIZES_TO_64K = tuple(kb * KB for kb in (1, 2, 4, 8, 16, 32, 64))
_SLM_SIZES_TO_128K = tuple(kb * KB for kb in (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128))


def lanes(operations_per_s: float, cores: int, clock_hz: float) -> float:
    """Multiply-adds, two operations each, that an Xe core starts in a cycle."""
    return operations_per_s / 2 / (cores * clock_hz)


def _line_bytes_per_cycle(time_s: float, cores: int, clock_hz: float) -> float:
    """Bytes of lines per Xe core and cycle, where 2**28 lanes have accessed a line of 64 bytes each in some time."""
    return 2**28 * 64 / time_s / (cores * clock_hz)


def _of_multiply_adds(
    card: str, *, cores: int, clock_hz: float, fp16: float, int32: float, int64: float
) -> tuple[Source, ...]:
    """Rates from the operations/s of multiply-adds that OpenCL-Benchmark has measured on a card."""
    return figures(
        "M",
        f"{OPENCL_BENCHMARK} on {card}: {fp16 / 1e12:.1f}, {int32 / 1e12:.2f} and (at least) {int64 / 1e12:.2f}e12 "
        "operations/s of multiply-adds in fp16, int32 and int64",
        fp16_lanes_per_cycle=lanes(fp16, cores, clock_hz),
        int32_multiply_lanes_per_cycle=lanes(int32, cores, clock_hz),
        int64_multiply_lanes_per_cycle=lanes(int64, cores, clock_hz),
    )


def _default_sub_group(size: int) -> tuple[Source, ...]:
    return figures("C", "chosen by xeemu for the architecture", default_sub_group_size=size)


def _documented_banks(confidence: str, otherwise: str = "") -> tuple[Source, ...]:
    # The guide repeats one geometry for every generation; engineers disagree with it from Xe-HPG on.
    text = f"{GUIDE}: 64 consecutive bytes in 16 banks of 4 bytes{otherwise}"
    return figures(confidence, text, slm_banks=16, slm_bank_bytes=4, request_lanes=16)


_ANY_INTEL_GPU = (
    *figures("H", f"{GUIDE}: SLM is on the chip", local_mem_type="local"),
    *figures("H", f"{NEO[1]}, ftrSupportsInteger64BitAtomics", atomic64=True),
    *figures("H", f"{NEO[1]}, cl_khr_fp16", fp16=True),
    *figures(
        "H",
        "IGC: MemOpt merges uniform loads up to 32 bytes, of which emitVectorLoad makes a gather",
        shared_load_words=8,
    ),
    *figures(
        "M",
        "IGC, GenTTI: of loops whose number of iterations it knows; of others it unrolls none that loads",
        longest_unrolled_loop=40,
    ),
)
_UP_TO_XE_HPG = (
    *_ANY_INTEL_GPU,
    *figures(*_CALCULATOR, sub_group_sizes=(8, 16, 32), local_mem_size=64 * KB, slm_sizes_bytes=_SLM_SIZES_TO_64K),
    *figures(*_IGC, grf_register_bytes=32, grf_bytes_per_thread=128 * 32),
    *figures(*NEO, line_bytes=64),
    *_default_sub_group(16),
)
_FROM_XE_HP = figures(
    "M", "IGC, flags EnableBfn and EnableAdd3: from Xe-HP on; MatchRotate before them", ternary_integers=True
)
_FROM_XE_HPC = (
    *_ANY_INTEL_GPU,
    *_FROM_XE_HP,
    *figures(
        *_CALCULATOR,
        vector_engines_per_core=8,
        threads_per_engine=8,
        sub_group_sizes=(16, 32),
        max_work_group_size=1024,
        max_work_groups_per_core=64,
        barrier_registers_per_core=64,
        local_mem_size=128 * KB,
        slm_bytes_per_core=128 * KB,
        slm_sizes_bytes=_SLM_SIZES_TO_128K,
    ),
    *figures(*_IGC, grf_register_bytes=64, grf_bytes_per_thread=128 * 64, large_grf_factor=2),
    *figures(*NEO, fp64_native=True, fused_engines=False),
    *figures(*_NEO_FP64, fp64=True),
    *figures(
        "M", "sycl-tla pull request 631: 16 bytes per lane conflict unless striped", slm_wide_accesses="components"
    ),
    *figures(*_SCHEDULER, barrier_latency_cycles=30, alu_latency_cycles=10, special_latency_cycles=17),
    *_FENCES,
    *_PROLOGUE,
    *_default_sub_group(32),
)
# IGC makes three instructions of a 32-bit multiply-add. At this rate they would take 3/128 of a cycle for a work-item;
# 1/40.5 was measured, on a B580 as on a Max 1100.
_MULTIPLY_IN_THREE = figures("D", "three instructions of a measured multiply-add", int32_lanes_per_cycle=128)
_STORES_CONFLICT = figures(
    "H", "Intel OpenCL developer guide, 2019: stores to one bank conflict", slm_same_word_stores_conflict=True
)
_COMPONENTS = figures(
    "H", "Intel OpenCL developer guide, 2019: messages of up to four components", slm_wide_accesses="components"
)

ARCHITECTURES: dict[str, tuple[Source, ...]] = {
    "gen9": (
        *_UP_TO_XE_HPG,
        *figures(
            *_CALCULATOR,
            vector_engines_per_core=8,
            threads_per_engine=7,
            max_work_group_size=256,
            max_work_groups_per_core=56,
            barrier_registers_per_core=32,
            slm_bytes_per_core=64 * KB,
        ),
        *figures(*NEO, fp64_native=True),
        *figures(*_NEO_FP64, fp64=True),
        *_documented_banks("H"),
        *_STORES_CONFLICT,
        *_COMPONENTS,
        *figures("H", "Intel Gen9 whitepaper", slm_bytes_per_cycle=64, l1_bytes_per_cycle=64),
        *figures("H", "Intel Gen9 whitepaper: two units of an engine, of four operations", int32_lanes_per_cycle=8 * 8),
        *figures("M", _MESA_MATH, special_lanes_per_cycle=8 * 2),
        *figures("M", f"{_MESA_TIMES}, before Gen11: a regression of measured times", alu_latency_cycles=8),
        *figures(
            "M", f"{_MACSIM}: of the L3, as there is no other cache", l1_latency_cycles=138, l2_latency_cycles=138
        ),
        *figures("D", f"at least: {_MACSIM}: 242 to the LLC, and 95 beyond it", dram_latency_cycles=242 + 95),
        *figures(
            "M",
            f"{OPENCL_BENCHMARK} on a UHD 630: 0.149e12 int32 and 0.016e12 int64 operations/s",
            int32_multiply_lanes_per_cycle=lanes(0.149e12, cores=3, clock_hz=1.2e9),
            int64_multiply_lanes_per_cycle=lanes(0.016e12, cores=3, clock_hz=1.2e9),
        ),
        *figures(
            "M",
            "sums on a UHD 620 (GPGPUCourse/GPGPUTasks2023 pull request 188), 1e8 lanes in 195 ms; seven neighbouring "
            "words take 1.07 in HeCBench on a P630",
            same_address_atomics_per_cycle=1e8 / (0.194765 * 1.15e9),
        ),
    ),
    "xe-lp": (
        *_UP_TO_XE_HPG,
        *figures(
            *_CALCULATOR,
            vector_engines_per_core=16,
            threads_per_engine=7,
            max_work_group_size=512,
            max_work_groups_per_core=112,
            barrier_registers_per_core=64,
            slm_bytes_per_core=64 * KB,
        ),
        *figures(*NEO, fp64_native=False, fused_engines=True),
        *figures(*_NEO_FP64, fp64=False),
        *_documented_banks("H"),
        *_STORES_CONFLICT,
        *_COMPONENTS,
        *figures("M", f"{GUIDE}; SLM taken as the data port", slm_bytes_per_cycle=128, l1_bytes_per_cycle=128),
        *figures("H", f"{GUIDE}: operations of an engine", int32_lanes_per_cycle=16 * 8, fp16_lanes_per_cycle=16 * 16),
        *figures("H", f"{GUIDE}: extended math is 2 wide", special_lanes_per_cycle=16 * 2),
        *figures(
            "M",
            "vkpeak on a UHD 770 (nihui/vkpeak issue 16): 174.1e9 operations/s of multiply-adds",
            int32_multiply_lanes_per_cycle=lanes(174.1e9, cores=2, clock_hz=1.55e9),
        ),
        *figures(*_SCHEDULER, slm_latency_cycles=28, l1_latency_cycles=45),
        *figures(*_SCHEDULER, l2_latency_cycles=200, barrier_latency_cycles=30),
        *figures(*_SCHEDULER, alu_latency_cycles=10, special_latency_cycles=17),
        *_FENCES,
    ),
    "xe-hpg": (
        *_UP_TO_XE_HPG,
        *_FROM_XE_HP,
        *figures(
            *_CALCULATOR,
            vector_engines_per_core=16,
            threads_per_engine=8,
            max_work_group_size=1024,
            max_work_groups_per_core=128,
            barrier_registers_per_core=128,
            slm_bytes_per_core=128 * KB,
        ),
        *figures(*_IGC, large_grf_factor=2),
        *figures(*NEO, fp64_native=False, fused_engines=True),
        *figures(*_NEO_FP64, fp64=False),
        *_documented_banks("M", "; oneDNN plans for 32 banks of 8 bytes"),
        *figures("L", "as Xe-LP; the guide's figure for loads and stores is 512", slm_bytes_per_cycle=128),
        *figures("L", f"{GUIDE}, marketing figure", l1_bytes_per_cycle=512),
        *figures("L", "taken as Xe-LP", int32_lanes_per_cycle=16 * 8),
        *figures("M", _MESA_MATH, special_lanes_per_cycle=16 * 2),
        *figures(
            "M",
            "vkpeak on an A770 (nihui/vkpeak issue 7): 25907e9 operations/s of multiply-adds",
            fp16_lanes_per_cycle=lanes(25907e9, cores=32, clock_hz=2.4e9),
        ),
        *figures(
            "M",
            "x = x * x + c on an A380 (krrishnarraj/clpeak issue 202): 2488e9 operations/s of multiply-adds",
            fp32_repeated_lanes_per_cycle=lanes(2488e9, cores=8, clock_hz=2.45e9),
        ),
        *figures("D", "twice that of single precision", fp16_repeated_lanes_per_cycle=2 * 64),
        *figures(
            "M",
            f"{OPENCL_BENCHMARK} on an A750: (at least) 1.032e12 operations/s of multiply-adds in int64",
            int64_multiply_lanes_per_cycle=lanes(1.032e12, cores=28, clock_hz=2.4e9),
        ),
        *figures(*_SCHEDULER, slm_latency_cycles=28, l1_latency_cycles=45),
        *figures(*_SCHEDULER, l2_latency_cycles=200, barrier_latency_cycles=30),
        *figures(*_SCHEDULER, alu_latency_cycles=10, special_latency_cycles=17),
        *_FENCES,
        *_PROLOGUE,
    ),
    "xe-hpc": (
        *_FROM_XE_HPC,
        *_documented_banks("M", "; Triton engineers: 64 banks of 8 bytes, or 65"),
        *figures(*NEO, line_bytes=64),
        *figures("M", f"{ALCF}: 46 to 52 TB/s over 128 Xe cores", slm_bytes_per_cycle=256),
        *_MULTIPLY_IN_THREE,
        *_of_multiply_adds("a Max 1100", cores=56, clock_hz=1.55e9, fp16=41.497e12, int32=7.043e12, int64=1.083e12),
        *figures("D", f"{OPENCL_BENCHMARK} on a Max 1100: reads 737.5e9 of 1229e9 bytes/s", dram_sustained=0.60),
        *figures(*_NOMINAL, slm_latency_cycles=30, send_cycles=6, l1_request_cycles=1),
        *figures("M", "Hot Chips: 105 TB/s; the guide says 1024, triads reach 140 to 280", l1_bytes_per_cycle=512),
        *figures("H", f"{ALCF}, pointer chase on a Max 1550", l1_latency_cycles=61, l1_bytes_per_core=512 * KB),
        *figures("H", f"{ALCF}, pointer chase on a Max 1550", l2_latency_cycles=425, dram_latency_cycles=858),
    ),
    "xe2": (
        *_FROM_XE_HPC,
        *_documented_banks("L", "; 32 banks of 4 bytes would fit the measured bandwidth"),
        *figures("L", "assumed as before Xe2; NEO reports 256", line_bytes=64),
        *figures("M", "ExecuTorch study on B580 and B70, about 127 and 112", slm_bytes_per_cycle=128),
        *figures("M", "TechPowerUp's review of a B580", l1_bytes_per_core=256 * KB),
        *_MULTIPLY_IN_THREE,
        *_of_multiply_adds("a B580", cores=20, clock_hz=2.85e9, fp16=26.872e12, int32=4.618e12, int64=0.694e12),
        *figures(
            "M",
            f"{OPENCL_BENCHMARK} on a B580: 0.898e12 operations/s of multiply-adds",
            fp64_lanes_per_cycle=lanes(0.898e12, cores=20, clock_hz=2.85e9),
        ),
        *figures(
            "D",
            f"at least: misaligned reads of {OPENCL_BENCHMARK} on a B580, 2**28 lines in 1.342 ms",
            l1_bytes_per_cycle=_line_bytes_per_cycle(1.342e-3, cores=20, clock_hz=2.85e9),
        ),
        *figures("L", "taken as that of Xe-HPC", l1_request_cycles=1),
        *figures(*B60, slm_latency_cycles=46, l1_latency_cycles=71, l2_latency_cycles=230),
    ),
    "hopper": (
        *figures("H", _HOPPER, slm_bytes_per_core=228 * KB, slm_reserved_bytes_per_group=1 * KB),
        *figures("H", _HOPPER, local_mem_type="local", local_mem_size=227 * KB, max_work_groups_per_core=32),
        *figures("D", f"{_HOPPER}: 64 warps per SM, here in 4 processing blocks", threads_per_engine=16),
        *figures("D", f"{_HOPPER}: 65536 registers per SM for 64 warps", grf_bytes_per_thread=65536 * 4 // 64),
        *figures(*RECALLED, vector_engines_per_core=4),
        *figures("M", "CUDA's limit; launched on an H200", max_work_group_size=1024),
        *figures(*H200, sub_group_sizes=(32,), request_lanes=32),
        *figures(*H200, slm_banks=32, slm_bank_bytes=4, slm_same_word_stores_conflict=False),
        *figures(*H200, slm_wide_accesses="lane_groups", slm_paired_lanes=(1, 2), slm_atomic_bytes=4),
        *figures(*H200, slm_float_atomics=False, slm_shared_increments=True, slm_compare_exchange_passes=2),
        *figures(
            "H",
            "an H200's counters of reduce_inter, a tree reduction whose sub-groups have no lanes left",
            slm_masked_passes=1,
        ),
        *figures(
            "H", "an H200's counters of reduce_inter, and then of all kernels with barriers", slm_barrier_passes=1
        ),
        *figures(
            "H",
            "an H100's counters of sums of all work-items, in global and in local memory: an update a sub-group",
            reduced_atomics=True,
        ),
        *figures("H", "NVIDIA, CUDA binary utilities, instructions: IADD3, LOP3, SHF", ternary_integers=True),
        *figures(
            "H",
            "listings of sm_90 code by CUDA 13.0 of loops of 1 to 64 multiply-adds in turn",
            unrolled_loops=((4, 16), (40, 4), (80, 2)),
        ),
        *figures(
            "H",
            "listings of sm_90 code by CUDA 13.0, what is always executed; exp as __expf, the least",
            function_instructions=(
                *(("rsqrt", 4, 4), ("exp2", 4, 4), ("exp", 5, 5), ("sqrt", 9, 9), ("div", 10, 10), ("tanh", 17, 8)),
                *(("cbrt", 16, 12), ("cosh", 16, 12), ("sinh", 25, 14), ("atan", 19, 15), ("asin", 25, 18)),
                *(("acos", 26, 19), ("sin", 28, 12), ("cos", 29, 12), ("tan", 25, 14), ("log", 28, 19)),
                *(("log1p", 33, 19), ("expm1", 29, 16), ("erf", 30, 12)),
                *(("native_sin", 2, 2), ("native_cos", 2, 2), ("native_tan", 8, 6)),
                *(("native_sqrt", 4, 4), ("native_exp", 5, 5), ("native_log", 5, 5)),
            ),
            branching_functions=("div", "sqrt", "cos", "sin", "tan"),
        ),
        *figures(*H200, tag_bank_masks=(0x7AB5, 0xD5DA)),
        *figures(
            "M",
            "listings of sm_90 code: stack pointer, descriptor of global memory; a load of each argument",
            prologue_instructions=2,
            argument_instructions=1,
        ),
        *figures(
            "H", "an H200's counters of g_stride_ld: loads 48 bytes apart move pieces of 64 bytes", dram_access_bytes=64
        ),
        *figures("H", "measured on an H200; 512 would agree as well", grf_granule_bytes=1024),
        *figures("H", f"{_HOPPER}: registers per thread", max_registers_per_work_item=255),
        *figures(*H200, slm_granule_bytes=128, line_bytes=128, sector_bytes=32, fp64_native=True),
        *figures(*H200, atomic64=True),
        *figures("H", "CUDA programming guide, compute capability 9.0", fp64=True, fp16=True),
        *_default_sub_group(32),
    ),
    "cpu": (
        *figures(
            "M",
            "clinfo of Intel CPU Runtime for OpenCL in public reports",
            max_work_group_size=8192,
            local_mem_type="global",
            fp64_native=True,
            fp64=True,
        ),
        *figures("M", "Intel dpctl documentation, CPU device", sub_group_sizes=(4, 8, 16, 32, 64)),
        *figures("H", "minimum of the OpenCL full profile", local_mem_size=32 * KB),
        *figures(
            "M",
            "Intel oneAPI DPC++/C++ Compiler guide, runtime environment variables and defaults",
            private_mem_size=32 * KB,
            local_mem_variable="CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE",
            private_mem_variable="CL_CONFIG_CPU_FORCE_PRIVATE_MEM_SIZE",
        ),
        *_default_sub_group(16),
    ),
}
