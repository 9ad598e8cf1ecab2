"""Numbers of things in words."""

import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe
from xeemu.plurals import counted, fitting


@pytest.mark.parametrize(
    ("count", "noun", "several", "text"),
    [
        (1, "group", "", "1 group"),
        (0, "group", "", "0 groups"),
        (1, "pass", "passes", "1 pass"),
        (2, "pass", "passes", "2 passes"),
    ],
)
def test_a_noun_is_in_the_singular_for_one(count, noun, several, text):
    assert counted(count, noun, several) == text
    assert fitting(count, several or f"{noun}s") == text.split()[1]


def test_a_report_and_a_listing_speak_of_one_of_each():
    @xe.kernel
    def one(wg, x):
        tile = wg.local(1, jnp.float32)
        tile = wg.barrier(tile.at[0].set(x[wg.global_id()]))
        return x.at[wg.global_id()].set(tile[0] + 1)

    launch = one, xe.NDRange(1, 1)
    text = str(xe.profile(*launch)(np.zeros(1, np.float32))[1]) + str(xe.trace(*launch)(np.zeros(1, np.float32)))
    assert "1 work-group\n" in text
    assert "1 group\n" in text or "1 group " in text
    assert all(f" 1 {noun} " not in text for noun in ("groups", "items", "passes", "arrivals", "work-groups"))
