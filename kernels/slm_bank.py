"""Bank conflicts of local memory, from "Shared Local Memory" (Intel, oneAPI GPU Optimization Guide).

Each work-item adds to one word of local memory over and over. With 16 banks of 4 bytes, words that are 16 apart lie in
one bank, so that the work-items of a request are served one after the other; consecutive words are served at once.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax

import xeemu as xe
from xeemu.kernels.example import Example, Inputs, Size

_GROUP = 32
_ITERATIONS = 1024 * 1024


@xe.kernel
def slm_bank(wg: xe.WorkGroup, data: xe.Memory, *, stride: int = 16, iterations: int = _ITERATIONS) -> xe.Memory:
    """Adds to a word of local memory per work-item, the words `stride` apart."""
    i = wg.global_linear_id()
    j = wg.local_linear_id()
    slm = wg.local(32 * 64, jnp.int32)

    slm = slm.at[j * stride].set(0)
    slm = wg.barrier(slm)

    def accumulate(m, slm):
        slm = slm.at[j * stride].set(slm[j * stride] + i * m)
        return wg.barrier(slm)

    slm = lax.fori_loop(0, iterations, accumulate, slm)
    return data.at[i].set(slm[j * stride])


def example(stride: int, iterations: int = _ITERATIONS) -> Example:
    """The example with words `stride` apart (at most 64) and so many iterations of the loop."""

    def reference(data: np.ndarray) -> np.ndarray:
        """The loop adds up to i * (0 + 1 + ... + (iterations - 1)), wrapped to C's int."""
        return (np.arange(data.size) * (iterations * (iterations - 1) // 2)).astype(np.int32)

    return Example(
        name=f"slm_bank_{stride}",
        summary=f"Local memory updated at stride {stride} (oneAPI GPU Optimization Guide, Bank Conflicts)",
        kernel=slm_bank,
        size=(32,),
        size_names=("work-items",),
        nd_range=lambda size: xe.NDRange(size[0], _GROUP),
        inputs=_inputs,
        reference=reference,
        work=lambda size: size[0] * iterations,
        unit="updates",
        static={"stride": stride, "iterations": iterations},
    )


def _inputs(size: Size) -> Inputs:
    return (np.zeros(size[0], np.int32),)


EXAMPLES = (example(16), example(1))
