"""Survey: writes down a suite's kernels with made-up arguments, and labels from its tests' comments.

The rule of made-up arguments: arrays of 65536 elements, random in [0, 1) or integers below 16, so that what is computed
from them stays an index in bounds for the plain patterns; numbers 16, or 0.5; 8 KiB for a local pointer; two groups in
each dimension that the kernel asks for, of 64, 8 x 8 or 4 x 4 x 4 work-items or of what it requires.

Entries whose origin is not "made up" are kept as they are.
"""

import dataclasses
import json
import pathlib
import re
from collections.abc import Callable, Iterable, Sequence

from yardstick import labels, manifest, sources
from yardstick.manifest import Entry
from yardstick.signatures import Parameter, Signature, Unparsed, signatures

ELEMENTS = 1 << 16
GROUPS = ((64,), (8, 8), (4, 4, 4))


@dataclasses.dataclass(frozen=True)
class Plan:
    """What the survey has to know of a suite.

    Attributes:
      files: patterns below the checkout.
      options: for all its kernels, as in the manifest.
      own: the options of a file beside those.
      before: files that come before one.
      stds: versions of the language to try in turn.
      scalar: the number for integer parameters.
      elements: of the arrays for a file's kernels.
      special: an entry made by the rule as the suite's own files would have it, or None for no entry.
      broken: the entry of a file with errors, or None.
    """

    repository: str
    files: tuple[str, ...]
    options: str = ""
    own: Callable[[str], str] = lambda file: ""
    before: Callable[[str], tuple[str, ...]] = lambda file: ()
    assembly: str = ""
    stds: tuple[str, ...] = ("CL2.0", "CL1.2", "CL3.0")
    scalar: int = 16
    elements: Callable[[str], int] = lambda file: ELEMENTS
    sizes: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = tuple((tuple(2 * n for n in g), g) for g in GROUPS)
    special: Callable[[Entry, str, Signature, pathlib.Path], Entry | None] = lambda entry, text, kernel, path: entry
    broken: Callable[[Entry, str], Entry | None] = lambda entry, text: None


def surveyed(name: str, plan: Plan, corpus: pathlib.Path, headers: pathlib.Path) -> tuple[list[Entry], list[str]]:
    """The entries of a suite, and why files or kernels have none."""
    root = corpus / name
    files = sorted({str(f.relative_to(root)) for pattern in plan.files for f in root.glob(pattern)})
    found: list[Entry] = []
    missed: list[str] = []
    for file in files:
        blank = Entry(name, file, "", (), (), (), plan.own(file), "CL2.0", plan.assembly, plan.before(file))
        try:
            entries, reasons = file_entries(blank, plan, corpus, headers)
        except (Unparsed, sources.MissingSource) as error:
            expected = plan.broken(blank, (root / file).read_text(errors="replace"))
            found += [expected] if expected else []
            missed.append(f"{file}: {error}")
            continue
        found += entries
        missed += reasons
    return found, missed


def file_entries(
    blank: Entry, plan: Plan, corpus: pathlib.Path, headers: pathlib.Path
) -> tuple[list[Entry], list[str]]:
    whole = dataclasses.replace(blank, options=f"{plan.options} {blank.options}".strip())
    path = sources.source(whole, corpus)
    std, kernels = parsed(path, sources.options(whole, corpus), plan.stds, headers)
    text = (corpus / blank.suite / blank.file).read_text(errors="replace")
    found, missed = [], []
    for kernel in kernels:
        if blank.before and not re.search(rf"void\s+{kernel.name}\s*\(", text):
            continue  # of a file that comes before
        opaque = [p.element for p in kernel.parameters if p.space == "opaque"]
        if opaque:
            missed.append(f"{blank.file}:{kernel.name}: an argument of type {opaque[0]}")
            continue
        made = plan.special(described(dataclasses.replace(blank, std=std), kernel, plan), text, kernel, path)
        if made is not None:
            found.append(made)
    return found, missed


def parsed(
    path: pathlib.Path, options: Sequence[str], stds: Iterable[str], headers: pathlib.Path
) -> tuple[str, list[Signature]]:
    """By the first version of the language that has no errors."""
    problem = None
    for std in stds:
        try:
            return std, signatures(path, options, std, headers)
        except Unparsed as error:
            problem = problem or error
    raise problem or Unparsed(f"{path}: no version of the language to try")


def described(blank: Entry, kernel: Signature, plan: Plan) -> Entry:
    """The entry of a kernel by the rule."""
    dimensions = kernel.dimensions
    whole, group = plan.sizes[dimensions - 1]
    if kernel.required:
        dimensions = max(dimensions, max((k + 1 for k, n in enumerate(kernel.required) if n > 1), default=1))
        group = kernel.required[:dimensions]
        whole = tuple(2 * n for n in group)
    arguments = tuple(by_rule(p, plan.scalar, plan.elements(blank.file)) for p in kernel.parameters)
    return dataclasses.replace(blank, name=kernel.name, global_size=whole, local_size=group, arguments=arguments)


def by_rule(parameter: Parameter, scalar: int = 16, elements: int = ELEMENTS) -> str:
    """The made-up argument for a parameter."""
    name = parameter.element
    real = re.match(r"(half|float|double)\d*$", name) is not None
    if parameter.space == "local":
        return "local 8192"
    if not parameter.space:
        return f"{name} = {0.5 if real else scalar}"
    if name.startswith("{"):
        return f"{name} below {max(4 * elements // parameter.size, 64)} 16"
    places = max(1, parameter.size // 16)
    return f"{name} random {elements // places}" if real else f"{name} below {elements // places} 16"


# --- The suites ---


def gpuverify(entry: Entry, text: str, kernel: Signature, path: pathlib.Path) -> Entry | None:
    """The sizes, options and label that a test of GPUVerify has in its first lines; three runs with other numbers."""
    told = labels.gpuverify(text, str(pathlib.PurePath(entry.file).parent))
    if told is None:
        return None
    items = 1
    for n in told.global_size:
        items *= n
    arguments = tuple(for_gpuverify(p, items) for p in kernel.parameters)
    return dataclasses.replace(
        entry,
        global_size=told.global_size,
        local_size=told.local_size,
        options=f"{entry.options} {told.options}".strip(),
        arguments=arguments,
        origin="its test",
        expect=told.expect,
    )


def refused_by_gpuverify(entry: Entry, text: str) -> Entry | None:
    """The entry of a test that clang must refuse."""
    told = labels.gpuverify(text)
    name = re.search(r"kernel\s+void\s+(\w+)", text)
    if told is None or told.expect != "refused" or name is None:
        return None
    sizes = {"global_size": told.global_size, "local_size": told.local_size}
    return dataclasses.replace(entry, name=name[1], expect="refused", origin="its test", **sizes)


def for_gpuverify(parameter: Parameter, items: int) -> str:
    """Numbers 8, that of the work-items, and 0; integers that do not repeat, and small ones that do."""
    name, size = parameter.element, max(1 << 14, min(2 * items, 1 << 21))
    count = max(size * 4 // max(parameter.size, 4), 64)
    if parameter.space == "local":
        return "local 32768"
    real = re.match(r"(half|float|double)\d*$", name) is not None
    if not parameter.space:
        small = re.match(r"u?(char|short)|bool", name) is not None
        return f"{name} = 0.5" if real else f"{name} = 8 | = {1 if small else items} | = 0"
    if real:
        return f"{name} random {count}"
    if name.startswith("{"):
        return f"{name} below {count} 64 | zeros {count}"
    return f"{name} permutation {count} | below {count} 64 | zeros {count}"


def oclgrind(entry: Entry, text: str, kernel: Signature, path: pathlib.Path) -> Entry | None:
    """Sizes, arguments and expectations of a test of Oclgrind's, from its .sim and .ref files."""
    told = labels.oclgrind(path.with_suffix(".sim"), [(p.space, p.element) for p in kernel.parameters], kernel.name)
    if told is None:
        return None
    return dataclasses.replace(
        entry,
        global_size=told.global_size,
        local_size=told.local_size,
        arguments=told.arguments,
        origin="its test",
        expect=told.expect,
        values=labels.expected_values(path.with_suffix(".ref"), [p.name for p in kernel.parameters]),
    )


def clblast_before(file: str) -> tuple[str, ...]:
    """What CLBlast's host code puts before a kernel's file."""
    kernels = "src/kernels/"
    level = pathlib.PurePath(file).parent.name
    base = pathlib.PurePath(file).name
    before = ["common.opencl"]
    gemm = [f"level3/xgemm_part{k}.opencl" for k in (1, 2, 3, 4)]
    direct = [f"level3/xgemm_direct_part{k}.opencl" for k in (1, 2, 3)]
    if level in ("level1", "level3") or base.startswith(("xger", "xher")):
        before.append(f"{level}/{level}.opencl")
    if base.startswith(("xgemm_direct_batched", "xconvgemm")):
        before += direct
    elif base.startswith("xgemm_batched"):
        before += gemm
    elif base in ("xgemv_fast.opencl", "xtrsv.opencl"):
        before.append("level2/xgemv.opencl")
    if base == "xconvgemm_part2.opencl":
        before.append("levelx/xconvgemm_part1.opencl")
    for parts in (gemm, direct):
        if f"level3/{base}" in parts:
            before += parts[: parts.index(f"level3/{base}")]
    if base == "invert_diagonal_blocks_part2.opencl":
        before.append("level3/invert_diagonal_blocks_part1.opencl")
    return tuple(kernels + b for b in before)


def clblast_routines(file: str) -> str:
    """The routines whose kernels a file of CLBlast's holds, which are told by macros."""
    names = {
        "batched": ("GEMMBATCHED", "GEMMSTRIDEDBATCHED"),
        "_pad.": ("GEMMBATCHED", "GEMMSTRIDEDBATCHED"),
        "invert_": ("INVERT",),
        "xtrsv": ("TRSV",),
        "convgemm": ("CONVGEMM",),
        "convert_triangular": ("TRMM",),
        "convert_symmetric": ("SYMM",),
        "convert_hermitian": ("HEMM",),
    }
    return " ".join(f"-DROUTINE_{name}" for part, found in names.items() if part in file for name in found)


_RODINIA = "-DBLOCK_SIZE=16 -DRD_WG_SIZE=256 -DTYPE=float -DDEFAULT_ORDER=256 -DDEFAULT_ORDER_2=256 -DREC_LENGTH=10"
_PARBOIL = (
    "-I{here} -I{here}/.. -DTILE_SZ=16 -DTILE_N=16 -DTILE_M=64 -DTILE_TB_HEIGHT=8 -DDYN_LOCAL_MEM_SIZE=1024 "
    "-DSIZE_XY_VAL=65536 -DCEIL_POS=41 -DBLOCK_X=14 -DUNROLL_X=16 -DSM_13=1"
)
_SHOC = (
    "-I{here} -DLROWS=8 -DLCOLS=8 -DSINGLE_PRECISION -DFPTYPE=float -DFPVECTYPE=float4 -DT=float -DT2=float2 "
    "-DclFFT_Complex=float2 -DPOSVECTYPE=float4 -DFORCEVECTYPE=float4"
)
_NVIDIA = (
    "-I{here} -I{here}/../inc -DBLOCK_SIZE=16 -DT=float -DREAL3=float3 -DREAL4=float4 -DZERO3={0.0f,0.0f,0.0f} "
    "-DKERNEL_RADIUS=8 -DWORKGROUP_SIZE=256 -DLOCAL_SIZE_LIMIT=512U -DMAXWORKX=32 -DMAXWORKY=16 -DRADIUS=4 "
    "-DLOG2_WARP_SIZE=5U -DWARP_COUNT=6 -DHISTOGRAM64_WORKGROUP_SIZE=64U -Dsystem_size=128 -DBLOCK_DIM=16 "
    "-DLOCAL_MEMORY_BANKS=16 -DnIsPow2=1 -DblockSize=128 -DROWS_BLOCKDIM_X=16 -DROWS_BLOCKDIM_Y=4 "
    "-DROWS_RESULT_STEPS=8 -DROWS_HALO_STEPS=1 -DCOLUMNS_BLOCKDIM_X=16 -DCOLUMNS_BLOCKDIM_Y=8 "
    "-DCOLUMNS_RESULT_STEPS=8 -DCOLUMNS_HALO_STEPS=1 -DMERGE_WORKGROUP_SIZE=256U"
)
_GGML = (
    "-I{here} -DBLOCK_M=16 -DBLOCK_N=16 -DDK=64 -DDV=64 -DWG_SIZE=64 -DN_SPLIT=4 -DFA_BLOCK_N=16 -DN_SIMDGROUP=2 "
    "-DN_SUBGROUP=2 -DN_SG_Q8_0=2 -DN_SG_Q1_0=2 -DN_SG_MXFP4=2 -DSIMDGROUP_WIDTH=16 "
    "-Dcl_intel_required_subgroup_size=1 -Dcl_intel_subgroups=1"
)
_HASHCAT = (
    "-I{root} -I{here} -DKERNEL_STATIC -DINCLUDE_PATH=OpenCL -DXM2S(x)=#x -DM2S(x)=XM2S(x) -DMAX_THREADS_PER_BLOCK=64 "
    "-DLOCAL_MEM_TYPE=1 -DVENDOR_ID=8 -DCUDA_ARCH=0 -DVECT_SIZE=1 -DDEVICE_TYPE=4 -DDGST_R0=0 -DDGST_R1=1 -DDGST_R2=2 "
    "-DDGST_R3=3 -DDGST_ELEM=4 -DKERN_TYPE=0 -DATTACK_EXEC=11 -DATTACK_KERN=3 -DATTACK_MODE=3 -DFIXED_LOCAL_SIZE=64"
)
_POLYBENCH_SIZES = (((1024,), (256,)), ((128, 128), (32, 8)), ((16, 16, 16), (4, 4, 4)))

PLANS = {
    "polybench": Plan(
        "cavazos-lab/PolyBench-ACC",
        ("OpenCL/**/*.cl",),
        "-I{here} -I{root}/OpenCL/utilities",
        scalar=128,
        sizes=_POLYBENCH_SIZES,
    ),
    "rodinia": Plan(
        "yuhc/gpu-rodinia",
        ("opencl/**/*.cl",),
        "-I{here} -I{here}/..",
        own=lambda f: "" if "pathfinder" in f else _RODINIA,
    ),
    "shoc": Plan(
        "vetter/shoc",
        ("src/opencl/**/*.cl",),
        "",
        own=lambda f: "-I{here} -DSINGLE_PRECISION -DN_GP=512" if "s3d" in f else _SHOC,
        elements=lambda f: 1 << 17 if "s3d" in f else ELEMENTS,
    ),
    "parboil": Plan("abduld/Parboil", ("benchmarks/*/src/opencl*/**/*.cl",), _PARBOIL),
    "clblast": Plan(
        "CNugteren/CLBlast",
        ("src/kernels/level*/*.opencl",),
        "-DPRECISION=32 -DROUTINE_TEST",
        own=clblast_routines,
        before=clblast_before,
        assembly="strings",
    ),
    "gpuverify": Plan(
        "mc-imperial/gpuverify",
        ("testsuite/OpenCL/**/*.cl",),
        "-include {ours}/gpuverify.h -I{here}",
        special=gpuverify,
        broken=refused_by_gpuverify,
    ),
    "oclgrind": Plan("jrprice/Oclgrind", ("tests/kernels/*/*.cl",), "-I{here}", special=oclgrind),
    "handson": Plan("HandsOnOpenCL/Exercises-Solutions", ("**/*.cl",), "-Dblksz=16"),
    "khronos": Plan("KhronosGroup/OpenCL-SDK", ("samples/**/*.cl",), "-I{here}"),
    "simple": Plan("bashbaug/SimpleOpenCLSamples", ("samples/**/*.cl",)),
    "nvidia": Plan("sschaetz/nvidia-opencl-examples", ("**/*.cl",), _NVIDIA),
    "clpeak": Plan("krrishnarraj/clpeak", ("src/**/*.cl",), "-DPRECISION=32", assembly="strings"),
    "ggml": Plan(
        "ggml-org/ggml",
        ("src/ggml-opencl/kernels/*.cl",),
        _GGML,
        own=lambda f: "-DLINE_STRIDE_A=64 -DBLOCK_STRIDE_A=64" if f.endswith("_spec.cl") else "",
        stds=("CL3.0", "CL2.0"),
    ),
    "hashcat": Plan(
        "hashcat/hashcat",
        (
            "OpenCL/m00000_a3-*.cl",
            "OpenCL/m00[19]00_a3-optimized.cl",
            "OpenCL/m01400_a3-optimized.cl",
            "OpenCL/amp_a*.cl",
            "OpenCL/markov_*.cl",
            "OpenCL/shared.cl",
        ),
        _HASHCAT,
        elements=lambda f: 1 << 13,
        # Those for longer passwords differ in a number alone.
        special=lambda entry, text, kernel, path: None if re.search("_[ms](08|16)$", entry.name) else entry,
    ),
    "pocl": Plan("pocl/pocl", ("tests/**/*.cl", "examples/**/*.cl"), "-I{here}"),
}


# --- Writing ---


def merged(found: Sequence[Entry], kept: Sequence[Entry]) -> list[Entry]:
    """The surveyed entries, with those of the manifest that were not made up by the rule in their places."""
    own = {e.key: e for e in kept if e.origin not in ("made up", "its test")}
    result = [own.pop(e.key, e) for e in found]
    return sorted([*result, *own.values()], key=lambda e: (e.file, e.name))


def text(plan: Plan, commit: str, entries: Sequence[Entry]) -> str:
    """The manifest's file."""
    head = [f"repository = {quoted(plan.repository)}", f"commit = {quoted(commit)}"]
    head += [
        f"{key} = {quoted(value)}" for key, value in (("options", plan.options), ("assembly", plan.assembly)) if value
    ]
    return "\n".join(head) + "\n" + "".join(block(e, plan) for e in entries)


def block(entry: Entry, plan: Plan) -> str:
    own = entry.options.removeprefix(plan.options).strip()
    lines = ["", "[[kernel]]", f"file = {quoted(entry.file)}", f"name = {quoted(entry.name)}"]
    optional = {"before": list(entry.before), "options": own, "std": entry.std if entry.std != "CL2.0" else ""}
    lines += [f"{key} = {quoted(value)}" for key, value in optional.items() if value]
    lines += [f"global = {list(entry.global_size)}", f"local = {list(entry.local_size)}"]
    lines.append("arguments = [" + ", ".join(map(quoted, entry.arguments)) + "]")
    rest = {"expect": entry.expect, "values": list(entry.values), "undefined": list(entry.undefined), "why": entry.why}
    if entry.origin != "made up":
        lines.append(f"origin = {quoted(entry.origin)}")
    lines += [f"{key} = {quoted(value)}" for key, value in rest.items() if value]
    return "\n".join(lines) + "\n"


def quoted(value: str | Sequence[str] | Sequence[int]) -> str:
    """A TOML string or array; JSON's strings are TOML's."""
    return json.dumps(value, ensure_ascii=False)


def written(name: str, corpus: pathlib.Path, headers: pathlib.Path) -> list[str]:
    """Surveys a suite and writes its manifest; gives why files or kernels have no entry."""
    plan = PLANS[name]
    found, missed = surveyed(name, plan, corpus, headers)
    kept = manifest.read(name).entries if name in manifest.names() else ()
    commit = (corpus / f"{name}.revision").read_text().strip()
    (manifest.FOLDER / f"{name}.toml").write_text(text(plan, commit, merged(found, kept)))
    return missed
