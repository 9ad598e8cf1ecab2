"""Recompiling: what is compiled with little effort is so again with all of it, once its runs have taken longer.

How long a program runs is an estimate where data decide how often its loops go round. Who compiles once more when the
runs have taken as long as the compiler never waits for more than twice what would have been best (A. R. Karlin,
M. S. Manasse, L. Rudolph and D. D. Sleator, "Competitive Snoopy Caching", 1988). The last bits of floats may differ
then: with all effort a product and a sum are rounded once (see `exactness`).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import jax

from xeemu.emission import compiling
from xeemu.launching.capacity import Measured

_T = TypeVar("_T")


class CompileBudget:
    """The compiler's time, of which runs of what it has compiled with little effort may take as much."""

    def __init__(self) -> None:
        self._compiled_s: float | None = None
        self._run_s = 0.0

    @property
    def is_spent(self) -> bool:
        """True if the runs have taken longer than the compiler."""
        return self._compiled_s is not None and self._run_s > self._compiled_s

    def spend(self, call: Callable[[], _T], is_run: bool) -> _T:
        """What a run gives, or what else is called, of which the first call is the compiler's time."""
        begun = time.process_time()
        result = call()
        spent_s = time.process_time() - begun
        if is_run:
            self._run_s += spent_s
        else:
            self._compiled_s = self._compiled_s or spent_s
        return result


class Recompiled:
    """A function of arrays that is compiled with little effort as long as that is worth while.

    Args:
      function: what is compiled.
      short: true if its runs are thought to be short; else it is compiled with all effort at once.
      options: for XLA, with whatever effort.
    """

    def __init__(self, function: Callable[..., Any], short: bool, options: Mapping[str, Any]):
        self._function, self._options = function, options
        self._short = short
        self._measured = self._compiled()
        self._budget = CompileBudget()

    @property
    def function(self) -> Callable[..., Any]:
        """What `jax.jit` made."""
        return self._measured.function

    @property
    def is_long(self) -> bool:
        """True if its runs were not thought to be short, or have turned out not to be."""
        return not self._short or self._budget.is_spent

    def working_bytes(self, arguments: Sequence[Any], results_bytes: int) -> int:
        """What it allocates, see `capacity.Measured`; what is called next is compiled then."""
        if self._short and self._budget.is_spent:
            self._short = False
            self._measured = self._compiled()
        return self._budget.spend(lambda: self._measured.working_bytes(arguments, results_bytes), is_run=False)

    def __call__(self, *arguments: Any) -> Any:
        """What the function gives, computed."""
        return self._budget.spend(lambda: jax.block_until_ready(self.function(*arguments)), is_run=True)

    def _compiled(self) -> Measured:
        options = {**self._options, **compiling.effort(little=self._short)}
        return Measured(compiling.compiled(self._function, options, ()))
