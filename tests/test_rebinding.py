"""A launch and its sisters see what the names are bound to that a kernel reaches, at the time of each call."""

import argparse
import array
import collections
import dataclasses
import functools
import gc
import importlib
import sys
import types
import weakref

import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe
from xeemu.language import references
from xeemu.language.bindings import MOST_BYTES, Bindings

ND = xe.NDRange(4, 4)
X = np.ones(4, np.int32)

N = 3
TABLE = np.arange(4, dtype=np.int32)
LARGE = np.zeros(MOST_BYTES, np.int32)
SETTINGS = {"k": [1, 2]}
OBJECT = types.SimpleNamespace(k=1)


class Class:
    k = 1


def by_name(v, *, n=3):
    return v * n


def helper(v):
    return v + N


ANOTHER = functools.partial(helper)


@xe.kernel
def of_global(wg, x):
    i = wg.global_id()
    return x.at[i].set(x[i] * N)


@xe.kernel
def of_helper(wg, x):
    i = wg.global_id()
    return x.at[i].set(helper(x[i]))


@xe.kernel
def of_partial(wg, x):
    i = wg.global_id()
    return x.at[i].set(ANOTHER(x[i]))


@xe.kernel
def of_array(wg, x):
    i = wg.global_id()
    return x.at[i].set(jnp.asarray(TABLE)[i] * N)


@xe.kernel
def of_large(wg, x):
    i = wg.global_id()
    return x.at[i].set(jnp.asarray(LARGE)[i])


@xe.kernel
def of_dict(wg, x):
    i = wg.global_id()
    return x.at[i].set(x[i] * SETTINGS["k"][0])


@xe.kernel
def of_attributes(wg, x):
    i = wg.global_id()
    return x.at[i].set(x[i] * OBJECT.k * Class.k)


class Scale:
    """An object whose methods name what the kernel does not."""

    k = 1

    def __init__(self, n):
        self.n = n

    def scaled(self, v):
        return self.twice(v) * self.half

    def twice(self, v):
        return v * 2 * self.n

    @property
    def half(self):
        return self.n // 2

    def __call__(self, v):
        return v * self.n

    def __mul__(self, v):
        return v * self.n

    def __getattr__(self, name):
        if name != "made":
            raise KeyError(name)
        return self.n


@dataclasses.dataclass(slots=True)
class Slots:
    n: int
    empty: int = dataclasses.field(init=False)


class Derived(Scale):
    pass


def decorated(function):
    @functools.wraps(function)
    def wrapper(v):
        return function(v) * N

    return wrapper


class Decorated:
    def __init__(self, function, n):
        functools.update_wrapper(self, function)
        self.function, self.n = function, n

    def __call__(self, v):
        return self.function(v) * self.n


def with_attribute(v):
    """A function that has what C has in static variables."""
    return v * (with_attribute.n if hasattr(with_attribute, "n") else 2)


SCALE, SLOTS, DERIVED, QUEUE = Scale(3), Slots(3), Derived(3), collections.deque([3])
USER_DICT, USER_LIST = collections.UserDict({0: 3}), collections.UserList([3])
VIEWED, CHAIN = {0: 3}, collections.ChainMap({0: 3})
VIEW, BYTES, ARRAY, LATER = types.MappingProxyType(VIEWED), bytearray([3]), array.array("i", [3]), Class()
BOUND, ARGUMENTS, WRAPPED = SCALE.scaled, argparse.Namespace(n=3), Decorated(helper, 3)
WRAPPER = decorated(lambda v: v + 1)
OF_OBJECTS = {
    "method": lambda v: SCALE.scaled(v),
    "bound method": lambda v: BOUND(v),
    "property": lambda v: v * SCALE.half,
    "called": lambda v: SCALE(v),
    "operator": lambda v: SCALE * v,
    "made up": lambda v: v * SCALE.made,
    "slot": lambda v: v * SLOTS.n,
    "missing slot": lambda v: v * (SLOTS.empty if hasattr(SLOTS, "empty") else 2),
    "class": lambda v: v * DERIVED.k,
    "arguments": lambda v: v * ARGUMENTS.n,
    "decorated": lambda v: WRAPPER(v),
    "decorated by an object": lambda v: WRAPPED(v),
    "queue": lambda v: v * QUEUE[0],
    "dict of collections": lambda v: v * USER_DICT[0],
    "list of collections": lambda v: v * USER_LIST[0],
    "dicts in a chain": lambda v: v * CHAIN[0],
    "view of a dict": lambda v: v * VIEW[0],
    "bytes": lambda v: v * BYTES[0],
    "array of Python": lambda v: v * ARRAY[0],
    "set later": lambda v: v * (LATER.n if hasattr(LATER, "n") else 2),
    "attribute of a function": with_attribute,
    "default that goes by name": lambda v: by_name(v),
}


def set_attribute(thing, name="n"):
    return lambda patch, value: patch.setattr(thing, name, value, raising=False)


@xe.kernel
def of_module_imported_inside(wg, x):
    import of_test

    i = wg.global_id()
    return x.at[i].set(x[i] * of_test.k)


@xe.kernel
def of_kernel(wg, x):
    return of_helper(wg, x)


@xe.kernel
def of_static(wg, x, *, f):
    i = wg.global_id()
    return x.at[i].set(f(x[i]))


def written(v):
    """A function that a test writes anew."""


def twice(v):
    return v + 2 * N


def set_item(patch, value):
    patch.setitem(SETTINGS, "k", [value, 2])


class Elements(dict):
    """Elements of an array or list as a dict, which `monkeypatch` can change and put back."""

    def __init__(self, held):
        super().__init__(enumerate(held))
        self.held = held

    def __setitem__(self, k, value):
        self.held[k] = value


def set_inside(patch, value):
    patch.setitem(Elements(SETTINGS["k"]), 0, value)


def set_element(patch, value):
    patch.setitem(Elements(TABLE), 0, value)


def set_code(patch, value):
    patch.setattr(helper, "__code__", (lambda v: v * 10).__code__)


def set_first(held):
    return lambda patch, value: patch.setitem(Elements(held), 0, value)


def named(name):
    return lambda patch, value: patch.setitem(globals(), name, value)


CHANGES = {
    "a global": (of_global, named("N"), 4),
    "one of a helper": (of_helper, named("N"), 4),
    "a helper": (of_helper, named("helper"), lambda v: v + 10),
    "a helper's code": (of_helper, set_code, None),
    "a helper of a helper": (of_partial, named("N"), 4),
    "another array": (of_array, named("TABLE"), np.full(4, 9, np.int32)),
    "an array in place": (of_array, set_element, 9),
    "another large array": (of_large, named("LARGE"), np.full(MOST_BYTES, 9, np.int32)),
    "an item of a dict": (of_dict, set_item, 5),
    "an item of a list in a dict": (of_dict, set_inside, 5),
    "an attribute of an object": (of_attributes, lambda patch, value: patch.setattr(OBJECT, "k", value), 5),
    "one of a class": (of_attributes, lambda patch, value: patch.setattr(Class, "k", value), 5),
    "what a kernel in a kernel reaches": (of_kernel, named("N"), 4),
}

CHANGES_OF_OBJECTS = {
    **{f"{what} of an object": (what, set_attribute(SCALE)) for what in list(OF_OBJECTS)[:6]},
    "a slot": ("slot", set_attribute(SLOTS)),
    "a slot that was empty": ("missing slot", set_attribute(SLOTS, "empty")),
    "an attribute in place of the class's": ("class", lambda patch, value: patch.setitem(vars(DERIVED), "k", value)),
    "a class's in place of its base's": ("class", set_attribute(Derived, "k")),
    "an attribute of a library's object": ("arguments", set_attribute(ARGUMENTS)),
    "what a decorator reaches": ("decorated", named("N")),
    "an attribute of a decorator": ("decorated by an object", set_attribute(WRAPPED)),
    "an item of a dict of collections": (
        "dict of collections",
        lambda patch, value: patch.setitem(USER_DICT, 0, value),
    ),
    "an element of a list of collections": ("list of collections", set_first(USER_LIST)),
    "an item of a dict in a chain": ("dicts in a chain", lambda patch, value: patch.setitem(CHAIN, 0, value)),
    "an item of a dict that is viewed": ("view of a dict", lambda patch, value: patch.setitem(VIEWED, 0, value)),
    "a byte": ("bytes", set_first(BYTES)),
    "an element of an array of Python": ("array of Python", set_first(ARRAY)),
    "an attribute that was not set": ("set later", set_attribute(LATER)),
    "one of a function": ("attribute of a function", set_attribute(with_attribute)),
    "defaults that go by name": (
        "default that goes by name",
        lambda patch, value: patch.setattr(by_name, "__kwdefaults__", {"n": value}),
    ),
    "an element of a deque": ("queue", set_first(QUEUE)),
}

CALLS = {
    "launch": lambda k, **static: np.asarray(xe.launch(k, ND)(X, **static)),
    "check": lambda k, **static: xe.check(k, ND)(X, **static)[0],
    "profile": lambda k, **static: xe.profile(k, ND)(X, **static)[0],
    "inspect": lambda k, **static: xe.inspect(k, ND)(X, **static).steps[-1].accesses[-1].values,
}


def answers(kernel, **static):
    """What each of the calls gives, after a look that they agree."""
    given = {name: call(kernel, **static).tolist() for name, call in CALLS.items()}
    assert len({str(values) for values in given.values()}) == 1, given
    return given["launch"]


@pytest.mark.parametrize("what", CHANGES)
def test_all_calls_see_a_change(what, monkeypatch):
    kernel, change, value = CHANGES[what]
    before = answers(kernel)
    with monkeypatch.context() as patch:
        change(patch, value)
        assert answers(kernel) != before
    assert answers(kernel) == before


@pytest.mark.parametrize("what", CHANGES_OF_OBJECTS)
def test_launches_see_a_change_of_what_methods_reach(what, monkeypatch):
    name, change = CHANGES_OF_OBJECTS[what]
    function = OF_OBJECTS[name]
    kernel = xe.kernel(lambda wg, x: x.at[wg.global_id()].set(function(x[wg.global_id()])))

    def told():
        return xe.launch(kernel, ND)(X).tolist()

    before = told()
    with monkeypatch.context() as patch:
        change(patch, 8)
        assert told() != before
    assert told() == before


def test_attributes_that_nobody_names_are_no_change(monkeypatch):
    kernel = xe.kernel(lambda wg, x: x.at[wg.global_id()].set(SCALE.twice(x[wg.global_id()])))
    before = kernel.bindings()
    monkeypatch.setitem(vars(SCALE), "unnamed", 8)
    assert kernel.bindings() == before


def test_a_module_that_a_kernel_imports_is_seen(monkeypatch):
    module = types.ModuleType("of_test")
    module.k, module.__file__ = 2, __file__
    monkeypatch.setitem(sys.modules, "of_test", module)
    assert answers(of_module_imported_inside) == [2] * 4
    module.k = 3
    assert answers(of_module_imported_inside) == [3] * 4


def test_a_module_that_a_function_of_many_constants_imports_is_seen():
    code = compile(
        f"def f():\n x = {[k / 2 for k in range(300)]}; x = x + {list(range(300))}\n from .m import k", "", "exec"
    )
    assert references.imported(code, "package") == ("package.m",)


def test_a_trace_and_an_estimate_see_a_change(monkeypatch):
    kernel = xe.kernel(lambda wg, x: x.at[wg.local_id() * N % 4].set(1))

    def told():
        return str(xe.trace(kernel, ND)(X)), str(xe.estimate(kernel, ND)(X).to_dict())

    before = told()
    monkeypatch.setitem(globals(), "N", 0)
    assert not set(before) & set(told())


@pytest.mark.thorough
def test_what_a_static_function_reaches_is_seen(monkeypatch):
    before = answers(of_static, f=twice)
    monkeypatch.setitem(globals(), "N", 4)
    assert answers(of_static, f=twice) != before


def test_a_variable_of_the_enclosing_function_is_seen():
    n = 3

    def inner(wg, x):
        i = wg.global_id()
        return x.at[i].set(x[i] * n)

    kernel = xe.kernel(inner)
    assert answers(kernel) == [3] * 4
    n = 4
    assert answers(kernel) == [4] * 4


def test_a_module_that_is_loaded_again_is_seen(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "of_user.py").write_text("K = 2\ndef scaled(v): return v * K\n")
    module = importlib.import_module("of_user")
    kernel = xe.kernel(lambda wg, x: x.at[wg.global_id()].set(module.scaled(x[wg.global_id()])))
    assert answers(kernel) == [2] * 4
    (tmp_path / "of_user.py").write_text("K = 20\ndef scaled(v): return v * K\n")
    importlib.reload(module)
    assert answers(kernel) == [20] * 4


def test_what_is_written_again_as_it_was_is_not_traced_again(monkeypatch):
    traces = []
    traced = traces.append
    kernel = xe.kernel(lambda wg, x: x.at[wg.global_id()].set(written(x[wg.global_id()])))
    for value, count in ((3, 1), (3, 1), (4, 2), (3, 2)):
        space = {"traced": traced, "N": value}
        exec("def f(v):\n  traced(v)\n  return v * N", space)
        monkeypatch.setitem(globals(), "written", space["f"])
        assert xe.launch(kernel, ND)(X).tolist() == [value] * 4
        assert len(traces) == count


def test_zeros_of_both_signs_and_true_are_told_from_equal_numbers(monkeypatch):
    bound = []
    for value in (0, 0.0, -0.0, False, np.float32(0)):
        monkeypatch.setitem(globals(), "N", value)
        bound.append(of_global.bindings())
    assert len(set(bound)) == 5


def test_an_object_in_the_place_of_one_that_is_gone_is_another():
    bound = set()
    for _ in range(100):
        target = object.__new__(Class)
        bound.add(Bindings(functools.partial(helper, target)).now())
        del target
    assert len(bound) == 100


@pytest.mark.thorough
def test_what_a_name_was_bound_to_is_freed_after_the_next_call(monkeypatch):
    array = np.zeros(MOST_BYTES, np.int32)
    gone = weakref.ref(array)
    monkeypatch.setitem(globals(), "LARGE", array)
    key = of_large.bindings()
    monkeypatch.undo()
    del array
    assert of_large.bindings() != key
    gc.collect()
    assert gone() is None


def test_a_thing_that_refers_to_itself_is_followed_once():
    loop = [1]
    loop.append(loop)

    def inner(wg, x):
        return inner.kernel, loop, x

    inner.kernel = kernel = xe.kernel(inner)
    assert kernel.bindings() == kernel.bindings()
