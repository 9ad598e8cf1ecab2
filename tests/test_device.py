"""The presets, their sources, SYCL's queries, what-ifs and the environment."""

import dataclasses
import numbers

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xeemu.devices.device import Device, Source
from xeemu.devices.lookup import device, devices
from xeemu.errors import KernelArgumentError

PRESETS = pytest.mark.parametrize("preset", devices(), ids=lambda preset: preset.name)
IDENTITY = {"name", "full_name", "architecture", "sources"}
KB = 1024
LOCAL_VARIABLE = "CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE"
PRIVATE_VARIABLE = "CL_CONFIG_CPU_FORCE_PRIVATE_MEM_SIZE"


def figures(preset: Device) -> dict[str, object]:
    named = {field.name: getattr(preset, field.name) for field in dataclasses.fields(preset)}
    return {name: value for name, value in named.items() if name not in IDENTITY}


def test_presets_are_listed_in_a_stable_order():
    names = [preset.name for preset in devices()]
    xe_hpg, xe_hpc, xe2 = (
        ["a770", "a750", "a380"],
        ["max1100", "max1550", "max1550_stack"],
        ["b580", "b570", "b60", "b70"],
    )
    assert names == ["hd530", "iris_xe", "uhd770", *xe_hpg, *xe_hpc, "arc140v", *xe2, "h200", "h100", "cpu"]
    assert devices() is devices()


@PRESETS
def test_device_finds_each_preset_and_passes_a_device_through(preset):
    assert device(preset.name) is preset
    mine = dataclasses.replace(preset, name="mine")
    assert device(mine) is mine


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("max1500", " (did you mean 'max1550'?)"),
        ("Iris Xe", " (did you mean 'iris_xe'?)"),
        ("B-580", " (did you mean 'b580'?)"),
        ("quantum", ""),
    ],
)
def test_an_unknown_name_lists_the_devices_and_suggests_the_nearest(name, hint):
    with pytest.raises(KernelArgumentError) as error:
        device(name)
    assert str(error.value) == (
        f"there is no device {name!r}{hint}. The devices are hd530, iris_xe, uhd770, a770, a750, a380, max1100, "
        "max1550, max1550_stack, arc140v, b580, b570, b60, b70, h200, h100, cpu; an xe.Device of your own is welcome "
        "too"
    )


# --- Sources ---


@PRESETS
def test_every_figure_has_a_source_and_no_source_is_without_its_figure(preset):
    known = {name: value for name, value in figures(preset).items() if value is not None}
    assert {source.field: source.value for source in preset.sources} == known
    assert len(preset.sources) == len(known)


@PRESETS
def test_every_source_says_where_from_and_how_sure(preset):
    for source in preset.sources:
        assert source.confidence in set("HMLDC")
        assert len(source.text) > 10


@PRESETS
def test_source_of_a_figure_that_is_not_known_is_none(preset):
    for name, value in figures(preset).items():
        assert (preset.source(name) is None) == (value is None)


def test_source_names_the_document_and_the_confidence():
    assert device("max1550").source("barrier_registers_per_core") == "Intel GPU Occupancy Calculator [H]"


def test_source_of_a_what_if_says_so():
    what_if = dataclasses.replace(device("max1550"), barrier_registers_per_core=32, sector_bytes=32)
    assert what_if.source("barrier_registers_per_core") == "what-if, instead of 64: Intel GPU Occupancy Calculator [H]"
    assert what_if.source("sector_bytes") == "given without a source [C]"


@pytest.mark.parametrize(("field", "hint"), [("slm_bank", " (did you mean 'slm_banks'?)"), ("xyz", "")])
def test_source_of_what_is_no_figure(field, hint):
    with pytest.raises(KernelArgumentError) as error:
        device("cpu").source(field)
    assert str(error.value) == f"a device has no figure {field!r}{hint}"


@PRESETS
def test_the_identity_of_a_device_is_no_figure(preset):
    for field in IDENTITY:
        with pytest.raises(KernelArgumentError, match=f"no figure '{field}'"):
            preset.source(field)


# --- The figures ---

# name: Xe cores, engines per core, threads per engine, largest work-group, SLM KB per core, per work-group, barriers
OCCUPANCY_CALCULATOR = {
    "hd530": (3, 8, 7, 256, 64, 64, 32),
    "iris_xe": (6, 16, 7, 512, 64, 64, 64),
    "a770": (32, 16, 8, 1024, 128, 64, 128),
    "a750": (28, 16, 8, 1024, 128, 64, 128),
    "a380": (8, 16, 8, 1024, 128, 64, 128),
    "uhd770": (2, 16, 7, 512, 64, 64, 64),
    "max1100": (56, 8, 8, 1024, 128, 128, 64),
    "max1550": (128, 8, 8, 1024, 128, 128, 64),
    "arc140v": (8, 8, 8, 1024, 128, 128, 64),
    "b580": (20, 8, 8, 1024, 128, 128, 64),
    "b570": (18, 8, 8, 1024, 128, 128, 64),
}


@pytest.mark.parametrize(("name", "row"), OCCUPANCY_CALCULATOR.items(), ids=OCCUPANCY_CALCULATOR)
def test_the_intel_gpus_are_those_of_the_occupancy_calculator(name, row):
    gpu = device(name)
    cores, engines, threads, work_group, slm_kb, group_kb, barriers = row
    assert gpu.xe_cores == cores
    assert (gpu.vector_engines_per_core, gpu.threads_per_engine) == (engines, threads)
    assert gpu.threads_per_core == engines * threads
    assert gpu.max_work_group_size == work_group
    assert (gpu.slm_bytes_per_core, gpu.local_mem_size) == (slm_kb * KB, group_kb * KB)
    assert gpu.barrier_registers_per_core == barriers
    assert gpu.max_work_groups_per_core == gpu.threads_per_core
    assert gpu.local_mem_type == "local"
    assert gpu.slm_sizes_bytes is not None
    assert gpu.slm_sizes_bytes[-1] == gpu.local_mem_size


def test_default_sub_group_sizes():
    wide = {preset.name for preset in devices() if preset.default_sub_group_size == 32}
    assert wide == {p.name for p in devices() if p.architecture in ("xe-hpc", "xe2", "hopper")}
    assert all(preset.default_sub_group_size == 16 for preset in devices() if preset.name not in wide)


def test_a_stack_of_a_max1550_is_half_of_it_and_a_core_of_either_the_same():
    whole, stack = device("max1550"), device("max1550_stack")
    for name in ("xe_cores", "fp32_flops_per_cycle", "l2_bytes", "l2_bytes_per_cycle", "dram_bytes_per_s"):
        assert getattr(stack, name) == getattr(whole, name) / 2, name
    assert stack.slm_bytes_per_cycle == whole.slm_bytes_per_cycle


@pytest.mark.parametrize("name", [gpu.name for gpu in devices() if gpu.architecture not in ("hopper", "cpu")])
def test_peak_flops_are_two_per_lane_of_every_engine(name):
    gpu = device(name)
    lanes = 16 if gpu.architecture in ("xe-hpc", "xe2") else 8
    assert gpu.fp32_flops_per_cycle == 2 * lanes * gpu.xe_cores * gpu.vector_engines_per_core


def test_h200():
    h200 = device("h200")
    assert h200.threads_per_core == 64
    assert h200.threads_per_core * h200.grf_bytes_per_thread == 65536 * 4
    assert h200.slm_bytes_per_core - h200.slm_reserved_bytes_per_group == h200.local_mem_size == 227 * KB
    assert h200.slm_banks * h200.slm_bank_bytes == h200.slm_bytes_per_cycle == 128


def test_cpu_is_a_device_without_a_modelled_machine():
    cpu = device("cpu")
    assert (cpu.local_mem_type, cpu.local_mem_size, cpu.private_mem_size) == ("global", 32 * KB, 32 * KB)
    assert cpu.threads_per_core is None
    assert cpu.slm_banks is None


# --- The largest work-group ---


def test_64_kb_and_512_bytes_per_work_item_give_128():
    assert device("hd530").local_mem_size == 65536
    assert device("hd530").largest_work_group(512) == 128


@PRESETS
def test_largest_work_group_without_local_memory_is_the_largest(preset):
    assert preset.largest_work_group(0) == preset.max_work_group_size


@given(preset=st.sampled_from(devices()), data=st.data())
def test_largest_work_group_fits_and_one_more_does_not(preset, data):
    bytes_ = data.draw(st.integers(1, preset.local_mem_size))
    size = preset.largest_work_group(bytes_)
    assert 1 <= size <= preset.max_work_group_size
    assert size * bytes_ <= preset.local_mem_size
    assert size == preset.max_work_group_size or (size + 1) * bytes_ > preset.local_mem_size


@pytest.mark.parametrize("bytes_", [-1, 65537, 0.5, "512"])
def test_largest_work_group_refuses_what_does_not_fit(bytes_):
    with pytest.raises(KernelArgumentError) as error:
        device("hd530").largest_work_group(bytes_)
    assert str(error.value) == (
        f"{bytes_!r} bytes of local memory per work-item do not fit hd530; give a whole number from 0 to 65536, its "
        "local_mem_size"
    )


# --- What-ifs ---


@PRESETS
def test_a_device_is_hashable_and_equal_to_its_copy(preset):
    copy = dataclasses.replace(preset, sources=())
    assert copy == preset
    assert hash(copy) == hash(preset)
    assert len({*devices(), copy}) == len(devices())


def test_a_device_is_immutable():
    with pytest.raises(dataclasses.FrozenInstanceError):
        device("cpu").max_work_group_size = 1


def test_a_what_if_differs_in_what_was_replaced():
    what_if = dataclasses.replace(device("max1550"), slm_banks=32, local_mem_size=64 * KB)
    assert what_if != device("max1550")
    assert what_if.largest_work_group(512) == 128
    assert repr(what_if) == "Device('max1550', local_mem_size=65536, slm_banks=32)"
    assert repr(device("max1550")) == "Device('max1550')"


def test_a_device_can_be_without_local_memory():
    without = dataclasses.replace(device("cpu"), local_mem_type="none", local_mem_size=0)
    assert without.largest_work_group(0) == 8192
    with pytest.raises(KernelArgumentError, match="from 0 to 0, its local_mem_size"):
        without.largest_work_group(4)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"slm_banks": 0}, "slm_banks is 0; give a whole number greater than 0, or None where it is not known"),
        ({"slm_banks": 16.0}, "slm_banks is 16.0; give a whole number greater than 0, or None where it is not known"),
        ({"slm_banks": True}, "slm_banks is True; give a whole number greater than 0, or None where it is not known"),
        ({"clock_hz": -1e9}, "clock_hz is -1000000000.0; give a number greater than 0, or None where it is not known"),
        ({"clock_hz": float("nan")}, "clock_hz is nan; give a number greater than 0, or None where it is not known"),
        ({"max_work_group_size": None}, "max_work_group_size is None; give a whole number greater than 0"),
        ({"local_mem_size": "64KB"}, "local_mem_size is '64KB'; give a whole number greater than 0"),
        ({"local_mem_size": -1}, "local_mem_size is -1; give a whole number greater than 0"),
        (
            {"local_mem_size": 0},
            "local_mem_size is 0 and local_mem_type is 'local'; the size is 0 if and only if the type is 'none'",
        ),
        ({"local_mem_type": "slm"}, "local_mem_type is 'slm'; give 'local', 'global' or 'none'"),
        ({"slm_wide_accesses": "rows"}, "slm_wide_accesses is 'rows'; give 'lane_groups', 'components' or None"),
        ({"fp64": "no"}, "fp64 is 'no'; give True or False, or None"),
        ({"fp64_native": None}, "fp64_native is None; give True or False"),
        ({"dram_sustained": 1.5}, "dram_sustained is 1.5, a share of dram_bytes_per_s; give 1 at most"),
        ({"sector_bytes": 48}, "line_bytes is 64, which sectors of 48 bytes do not fill"),
        (
            {"default_sub_group_size": 8},
            "default_sub_group_size is 8, which is not among the sub_group_sizes (16, 32)",
        ),
        *(
            (
                {"sub_group_sizes": sizes},
                f"sub_group_sizes is {sizes!r}; give a tuple of ascending whole numbers, such as (16, 32)",
            )
            for sizes in [None, (), [16, 32], (32, 16), (0, 32), (16.0, 32.0)]
        ),
    ],
)
def test_an_impossible_what_if_is_refused_with_its_numbers(change, why):
    with pytest.raises(KernelArgumentError) as error:
        dataclasses.replace(device("max1550"), **change)
    assert str(error.value) == f"device 'max1550': {why}"


@given(preset=st.sampled_from(devices()), data=st.data())
def test_every_optional_figure_may_be_unknown(preset, data):
    optional = [f.name for f in dataclasses.fields(preset) if f.default is None]
    field = data.draw(st.sampled_from(optional))
    unknown = dataclasses.replace(preset, **{field: None})
    assert getattr(unknown, field) is None
    assert unknown.source(field) is None


@given(preset=st.sampled_from(devices()), data=st.data(), number=st.integers(max_value=0) | st.floats(max_value=0.0))
def test_no_number_may_be_zero_or_less(preset, data, number):
    numeric = [name for name, value in figures(preset).items() if isinstance(value, numbers.Real)]
    field = data.draw(st.sampled_from([name for name in numeric if not isinstance(getattr(preset, name), bool)]))
    with pytest.raises(KernelArgumentError, match=field):
        dataclasses.replace(preset, **{field: number})


# --- The environment ---


@pytest.mark.parametrize(
    ("text", "size"), [("8MB", 8 << 20), ("8192KB", 8 << 20), ("8388608B", 8 << 20), ("1024B", 1024), ("1GB", 1 << 30)]
)
def test_the_variables_set_the_memory_of_the_cpu_device(text, size):
    cpu = device("cpu")
    assert cpu.in_environment({LOCAL_VARIABLE: text}) == dataclasses.replace(cpu, local_mem_size=size)
    assert cpu.in_environment({PRIVATE_VARIABLE: text}) == dataclasses.replace(cpu, private_mem_size=size)


@given(number=st.integers(1, 10**6), unit=st.sampled_from(["B", "KB", "MB", "GB"]))
def test_a_size_is_an_integer_and_a_power_of_1024(number, unit):
    forced = device("cpu").in_environment({LOCAL_VARIABLE: f"{number}{unit}"})
    assert forced.local_mem_size == number * 1024 ** ["B", "KB", "MB", "GB"].index(unit)
    assert forced.source("local_mem_size") == "set in the environment [C]"
    assert len(forced.sources) == len(device("cpu").sources)


@pytest.mark.parametrize("text", ["8", "MB", "8 MB", " 8MB", "8mb", "64K", "0KB", "-1KB", "1.5MB", "8MB\n", "٣KB"])
@pytest.mark.parametrize("variable", [LOCAL_VARIABLE, PRIVATE_VARIABLE])
def test_a_malformed_size_is_refused_with_what_to_write(variable, text):
    with pytest.raises(KernelArgumentError) as error:
        device("cpu").in_environment({variable: text})
    assert str(error.value) == (
        f"the environment variable {variable} is {text!r}; write an integer greater than 0 with the unit B, KB, MB or "
        f"GB, such as {variable}=8MB, 256KB or 1024B, or unset it"
    )


def test_an_environment_without_the_variables_changes_nothing():
    assert device("cpu").in_environment({"PATH": "8MB", LOCAL_VARIABLE: ""}) is device("cpu")


@pytest.mark.parametrize("preset", [p for p in devices() if p.name != "cpu"], ids=lambda preset: preset.name)
def test_the_variables_are_the_cpu_devices_alone(preset):
    assert preset.in_environment({LOCAL_VARIABLE: "8MB", PRIVATE_VARIABLE: "nonsense"}) is preset


def test_the_environment_is_read_when_asked(monkeypatch):
    monkeypatch.setenv(LOCAL_VARIABLE, "8MB")
    assert device("cpu").in_environment().local_mem_size == 8 << 20
    monkeypatch.setenv(LOCAL_VARIABLE, "1KB")
    assert device("cpu").in_environment().local_mem_size == 1024
    monkeypatch.delenv(LOCAL_VARIABLE)
    assert device("cpu").in_environment().local_mem_size == 32 * KB


def test_a_device_of_ones_own_needs_no_sources():
    mine = Device(
        name="mine",
        full_name="a device of my own",
        architecture="xe9",
        sub_group_sizes=(16,),
        default_sub_group_size=16,
        max_work_group_size=64,
        local_mem_type="local",
        local_mem_size=KB,
        fp64_native=False,
    )
    assert mine.sources == ()
    assert mine.source("local_mem_size") == "given without a source [C]"
    assert mine.source("slm_banks") is None
    sourced = dataclasses.replace(mine, sources=(Source("local_mem_size", KB, "H", "my own manual"),))
    assert sourced.source("local_mem_size") == "my own manual [H]"
