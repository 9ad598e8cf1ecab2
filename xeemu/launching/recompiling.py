"""Recompiling: what is compiled with little effort is so again with all of it, once its runs have taken longer.

How long a program runs is an estimate where data decide how often its loops go round. Who compiles once more when the
runs have taken as long as the compiler never waits for more than twice what would have been best (A. R. Karlin,
M. S. Manasse, L. Rudolph and D. D. Sleator, "Competitive Snoopy Caching", 1988). The last bits of floats may differ
then: with all effort a product and a sum are rounded once (see `exactness`).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from xeemu.emission import compiling
from xeemu.launching.capacity import Measured


class Recompiled:
    """A function of arrays that is compiled with little effort as long as that is worth while.

    Args:
      function: what is compiled.
      short: whether its runs are thought to be short; else it is compiled with all effort at once.
      options: for XLA, with whatever effort.
    """

    def __init__(self, function: Callable[..., Any], short: bool, options: Mapping[str, Any]):
        self._function, self._options = function, options
        self._short = short
        self._measured = self._compiled()
        self._compiled_s: float | None = None
        self._run_s = 0.0

    @property
    def function(self) -> Callable[..., Any]:
        """What `jax.jit` made."""
        return self._measured.function

    @property
    def is_long(self) -> bool:
        """Whether its runs were not thought to be short, or have turned out not to be."""
        return not self._short or self._has_cost_more

    def working_bytes(self, given: Sequence[Any], results_bytes: int) -> int:
        """What it allocates, see `capacity.Measured`; what is called next is compiled then."""
        if self._short and self._has_cost_more:
            self._short = False
            self._measured = self._compiled()
        begun = time.process_time()
        taken_bytes = self._measured.working_bytes(given, results_bytes)
        self._compiled_s = self._compiled_s or time.process_time() - begun
        return taken_bytes

    def __call__(self, *given: Any) -> Any:
        """What the function gives, computed."""
        begun = time.process_time()
        results = jax.block_until_ready(self.function(*given))
        self._run_s += time.process_time() - begun
        return results

    @property
    def _has_cost_more(self) -> bool:
        return self._compiled_s is not None and self._run_s > self._compiled_s

    def _compiled(self) -> Measured:
        options = {**self._options, **compiling.effort(little=self._short)}
        return Measured(compiling.compiled(self._function, options, ()))
