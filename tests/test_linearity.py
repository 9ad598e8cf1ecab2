"""Memories are used linearly: what the check refuses, with its line, and what it must not refuse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import refusals
from jax import lax

import xeemu as xe

RANGE = xe.NDRange(8, 4)
LINEAR = (
    "a memory is linear, and an update gives a new version: assign it, "
    "{0} = {0}.at[...].set(...) or {0} = wg.barrier({0}), and use only that"
)
forked = []


def refused_fork(name, use):
    """Registers a kernel that uses an old version; the line of the update is marked `# update`."""

    def register(function):
        forked.append(pytest.param(function, name, use, id=function.__name__))
        return function

    return register


@refused_fork("x", "x is used")
def load_after_a_store(wg, x, y):
    new = x.at[wg.global_id()].set(1)  # update
    y = y.at[wg.global_id()].set(x[wg.local_id()])  # <-
    return new, y


@refused_fork("x", "x is used")
def two_stores_to_one_version(wg, x, y):
    first = x.at[0].set(1)  # update
    second = x.at[1].set(1)  # <-
    return first, second


@refused_fork("tile", "tile is used")
def forgotten_assignment_of_a_barrier(wg, x, y):
    tile = wg.local(4, jnp.int32)
    tile = tile.at[wg.local_id()].set(1)
    wg.barrier(tile)  # update
    return x.at[wg.global_id()].set(tile[wg.local_id()])  # <-


@refused_fork("tile", "tile is used")
def forgotten_assignment_of_a_store(wg, x, y):
    tile = wg.local(4, jnp.int32)
    tile.at[wg.local_id()].set(1)  # update
    return x.at[wg.global_id()].set(tile[wg.local_id()])  # <-


@refused_fork("x", "x is used")
def fence_makes_a_version(wg, x, y):
    wg.fence(x)  # update
    return x.at[0].set(1)  # <-


@refused_fork("x", "x is used")
def atomic_fetch_whose_memory_is_dropped(wg, x, y):
    old, _ = x.atomic[0].fetch_add(1)  # update
    return x.at[0].set(old)  # <-


@refused_fork("x", "x is used")
def update_in_a_branch(wg, x, y):
    new = lax.cond(
        wg.group_id() == 0,
        lambda m: m.at[0].set(1),  # update
        lambda m: m,
        x,
    )
    return new, y.at[0].set(x[0])  # <-


@refused_fork("x", "x is used")
def update_in_a_loop(wg, x, y):
    new = lax.fori_loop(
        0,
        3,
        lambda k, m: m.at[k].set(1),  # update
        x,
    )
    return new, y.at[0].set(x[0])  # <-


@refused_fork("x", "x is used")
def update_in_a_function(wg, x, y):
    new = jax.jit(
        lambda m: m.at[0].set(1)  # update
    )(x)
    return new, y.at[0].set(x[0])  # <-


@refused_fork("x", "x is used")
def given_twice_to_a_function(wg, x, y):
    new = x.at[0].set(1)  # update
    return jax.jit(lambda m: m.at[0].set(2))(x), new  # <-


@refused_fork("m", "the predicate of a loop uses m, from outside the loop,")
def predicate_that_watches_the_memory_from_before_the_loop(wg, m, y):
    return lax.while_loop(  # <-
        lambda s: (m[0] < 3) & (s[1] < 5),
        lambda s: (s[0].at[0].set(s[0][0] + 1), s[1] + 1),  # update
        (m, 0),
    )[0]


@refused_fork("tile", "the body of a loop returns tile")
def loop_that_returns_an_old_version(wg, x, y):
    tile = wg.local(4, jnp.int32)

    def body(state):
        k, tile = state
        tile = tile.at[0].set(k)
        new = tile.at[1].set(k)  # update
        return k + new[0] * 0 + 1, tile

    k, _ = lax.while_loop(lambda s: s[0] < 3, body, (jnp.int32(0), tile))  # <-
    return x.at[0].set(k)


@refused_fork("tile", "a branch or function returns tile")
def branch_that_returns_an_old_version(wg, x, y):
    tile = wg.local(4, jnp.int32)

    def write(tile):
        tile = tile.at[0].set(1)
        wg.barrier(tile)  # update
        return tile

    tile = lax.cond(wg.group_id() == 0, write, lambda t: t, tile)  # <-
    return x


@refused_fork("tile", "tile is used")
def branch_with_a_forgotten_assignment(wg, x, y):
    tile = wg.local(4, jnp.int32)

    def write(tile):
        tile.at[0].set(1)  # update
        return tile

    tile = lax.cond(wg.group_id() == 0, write, lambda t: t, tile)
    return x.at[wg.global_id()].set(tile[0])  # <-


@pytest.mark.parametrize(("function", "name", "use"), forked)
def test_an_old_version_is_refused_with_both_lines(function, name, use):
    message = f"{use} as it was before the update at {refusals.site(function, '# update')}\n{LINEAR.format(name)}"
    error = refusals.Refusals(RANGE).error(function, (np.zeros(8, np.int32), np.zeros(8, np.int32)))
    assert error == f"{message}\n  at {refusals.site(function)}"


refused = refusals.Refusals(RANGE)


@refused(
    "an update of global memory x is lost: its last version is not returned; assign it, x = x.at[...].set(...), and "
    "end the kernel, loop body or branch with it, such as return x"
)
def update_that_is_not_returned(wg, x, y):
    x = x.at[0].set(1)  # <-
    return y.at[0].set(1)


@refused(
    "an update of global memory x is lost: its last version is not returned; assign it, x = x.at[...].set(...), and "
    "end the kernel, loop body or branch with it, such as return x"
)
def last_update_that_is_not_returned(wg, x, y):
    x = x.at[0].set(1)
    x = wg.barrier(x.atomic[0].add(1))  # <-
    return y


@refused(
    "an update of global memory x is lost: its last version is not returned; assign it, x = x.at[...].set(...), and "
    "end the kernel, loop body or branch with it, such as return x"
)
def kernel_that_returns_nothing(wg, x, y):
    x.at[0].set(1)  # <-


@refused(
    "an update of global memory x is lost: its last version is not returned; assign it, x = x.at[...].set(...), and "
    "end the kernel, loop body or branch with it, such as return x"
)
def branch_that_loses_an_update(wg, x, y):
    def write(x):
        x.at[0].set(1)  # <-
        return jnp.int32(1)

    value = lax.cond(wg.group_id() == 0, write, lambda x: jnp.int32(0), x)
    return y.at[0].set(value)


@refused(
    "t is updated in a loop that does not carry the new version on; assign it, t = "
    "t.at[...].set(...), and make it part "
    "of the loop's carry"
)
def loop_that_updates_what_it_closes_over(wg, x, y):
    t = wg.local(4, jnp.int32)

    def body(k, x):
        new = t.at[wg.local_id()].set(k)  # <-
        return x.at[wg.global_id()].set(new[wg.local_id()])

    return lax.fori_loop(0, 3, body, x)


@refused(
    "t is updated in a loop that does not carry the new version on; assign it, t = "
    "t.at[...].set(...), and make it part "
    "of the loop's carry"
)
def loop_with_a_forgotten_assignment(wg, x, y):
    t = wg.local(4, jnp.int32)

    def body(k, state):
        x, t = state
        x = x.at[wg.global_id()].set(t[wg.local_id()])
        t.at[wg.local_id()].set(k)  # <-
        return x, t

    return lax.fori_loop(0, 3, body, (x, t))[0]


@refused(
    "x is updated in a loop that does not carry the new version on; assign it, x = "
    "x.at[...].set(...), and make it part "
    "of the loop's carry"
)
def loop_that_reads_the_memory_from_before_it(wg, x, y):
    i = wg.global_id()
    return lax.fori_loop(0, 3, lambda k, m: m.at[i].set(x[i] + 1), x)  # <-


@refused("x is updated in a loop's predicate, which cannot return it; update it in the body")
def update_in_a_predicate(wg, x, y):
    def predicate(state):
        x, k = state
        x = x.at[0].set(1)  # <-
        return x[0] + k < 3

    return lax.while_loop(predicate, lambda s: (s[0], s[1] + 1), (x, 0))[0]


@refused(
    "a loop carries x in and y out at one place of its carry; a memory keeps its place: for "
    "two buffers in turn use one "
    "memory with a leading axis of 2"
)
def loop_that_swaps(wg, x, y):
    def body(k, buffers):
        x, y = buffers
        return y.at[wg.global_id()].set(x[wg.global_id()] + 1), x

    return lax.fori_loop(0, 3, body, (x, y))  # <-


@refused(
    "a loop carries a in and b out at one place of its carry; a memory keeps its place: for "
    "two buffers in turn use one "
    "memory with a leading axis of 2"
)
def while_loop_that_swaps_local_memories(wg, x, y):
    a, b = wg.local(4, jnp.int32, name="a"), wg.local(4, jnp.int32, name="b")
    a = a.at[0].set(1)
    state = lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[2], s[1]), (0, a, b))  # <-
    return x.at[0].set(state[1][0])


@refused(
    "a branch's result is y or x, depending on the branch; a memory keeps its place: return the same memories in the "
    "same order from every branch"
)
def branch_that_swaps(wg, x, y):
    return lax.cond(wg.group_id() == 0, lambda a, b: (a, b), lambda a, b: (b, a), x, y)  # <-


@refused(
    "a branch's result is y or x, depending on the branch; a memory keeps its place: return the same memories in the "
    "same order from every branch"
)
def branch_that_chooses_a_memory(wg, x, y):
    chosen = lax.cond(wg.group_id() == 0, lambda: x, lambda: y)  # <-
    return chosen.at[0].set(1)


@refused("local memory tile is made inside a loop or branch; make it before, outside them")
def local_memory_in_a_loop(wg, x, y):
    def body(k, x):
        tile = wg.local(4, jnp.int32)  # <-
        return x.at[0].set(tile[0])

    return lax.fori_loop(0, 3, body, x)


@refused("private memory own is made inside a loop or branch; make it before, outside them")
def private_memory_in_a_branch(wg, x, y):
    def write(x):
        own = wg.private(4, jnp.int32)  # <-
        return x.at[wg.global_id()].set(own[0])

    return lax.cond(wg.group_id() == 0, write, lambda x: x, x)


@refused("global memory x is used as an array by add; load its elements by index, such as x[i]")
def arithmetic_behind_the_memorys_back(wg, x, y):
    return jax.tree.map(lambda version: version + 1, x)  # <-


@refused("global memory x is used as an array by scan; load its elements by index, such as x[i]")
def scan_over_a_memory(wg, x, y):
    total, _ = lax.scan(lambda total, e: (total + e, None), jnp.int32(0), jax.tree.leaves(x)[0])  # <-
    return y.at[0].set(total)


@refused("x is given twice to one operation")
def barrier_of_one_memory_twice(wg, x, y):
    return wg.barrier(x, x)  # <-


@pytest.mark.parametrize(("function", "message", "arguments"), refused.cases)
def test_refused_with_the_line(function, message, arguments):
    assert refused.error(function, arguments) == f"{message}\n  at {refusals.site(function)}"


def test_a_memory_is_returned_once():
    @xe.kernel
    def kernel(wg, x):
        x = x.at[wg.global_id()].set(1)
        return x, x

    with pytest.raises(xe.KernelError, match=r"^x is returned twice; return each memory once\n  at "):
        xe.launch(kernel, RANGE)(np.zeros(8, np.int32))


def test_the_kernel_must_not_return_an_old_version():
    @xe.kernel
    def kernel(wg, x):
        wg.barrier(x)
        return x

    with pytest.raises(xe.KernelError, match=r"^the kernel returns x as it was before the update at .*wg.barrier"):
        xe.launch(kernel, RANGE)(np.zeros(8, np.int32))


def test_memories_of_two_spaces_are_not_swapped():
    """JAX itself sees that they differ; it is told with their names."""

    def kernel(wg, x):
        tile = wg.local(8, jnp.int32).at[0].set(1)
        return lax.fori_loop(0, 3, lambda k, s: (s[1], s[0]), (tile, x))[1]  # <-

    message = refusals.Refusals(RANGE).error(kernel, (np.zeros(8, np.int32),))
    assert message.startswith("the body of a loop gives global memory x where carry[0] holds local memory tile; ")
    assert message.endswith(f"\n  at {refusals.site(kernel)}")


# --- What is allowed ---


def allowed(function, *arguments):
    return xe.launch(xe.kernel(function), RANGE)(*arguments)


def test_the_last_version_of_local_and_private_memory_may_be_dropped():
    def kernel(wg, x):
        tile, own = wg.local(4, jnp.int32), wg.private(4, jnp.int32)
        tile.atomic[0].add(1)
        own.at[0].set(1)
        wg.barrier(wg.local(4, jnp.int32))
        return x

    np.testing.assert_array_equal(allowed(kernel, np.arange(8, dtype=np.int32)), np.arange(8))


def test_a_barrier_of_a_global_memory_that_is_only_read_need_not_be_returned():
    def kernel(wg, x, y):
        x = wg.barrier(x)
        return y.at[wg.global_id()].set(x[wg.global_id()])

    x = np.arange(8, dtype=np.int32)
    np.testing.assert_array_equal(allowed(kernel, x, np.zeros(8, np.int32)), x)


def test_loads_and_atomic_loads_make_no_version():
    def kernel(wg, x, y):
        a, b = x[wg.global_id()], x.atomic[wg.global_id()].load()
        c = x.load(0, where=wg.local_id() > 1)
        return x.at[wg.global_id()].set(a + b + c), y.at[0].set(0)

    x = np.arange(1, 9, dtype=np.int32)
    c = np.where(np.arange(8) % 4 > 1, 1, 0)
    np.testing.assert_array_equal(allowed(kernel, x, np.zeros(8, np.int32))[0], 2 * x + c)


def test_a_loop_may_read_what_it_does_not_carry():
    def kernel(wg, x, y):
        i = wg.global_id()
        y = lax.fori_loop(0, 3, lambda k, y: y.at[i].set(y[i] + x[k]), y)
        y = lax.while_loop(lambda s: s[1] < x[3], lambda s: (s[0].at[i].set(s[0][i] + x[0]), s[1] + 1), (y, 0))[0]
        return x.at[i].set(7), y

    x = np.array([1, 2, 3, 4, 0, 0, 0, 0], np.int32)
    _, y = allowed(kernel, x, np.zeros(8, np.int32))
    np.testing.assert_array_equal(y, np.full(8, 6 + 4))
