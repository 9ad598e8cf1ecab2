"""The table of operations, JAX's own and the kernel language's: what each is, and what holds of it.

It is the only place that lists them; `ops` looks them up.
"""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Literal

AccessKind = Literal["load", "store", "atomic"]
"""The accesses of the language, by what their names end with."""


class Kind(enum.Enum):
    """What an operation does with elements, or with memory."""

    # JAX's.
    ELEMENTWISE = "one element of the result for one of each operand, at the same index"
    MOVEMENT = "moves or repeats elements, from indices that are known when the program is traced"
    INDEXING = "moves elements from or to indices that are computed"
    REDUCTION = "combines all elements along axes"
    SCAN = "combines each element with those before it along an axis"
    SORT = "orders elements along an axis"
    CONTRACTION = "sums of products along axes of two operands"
    CREATION = "makes elements of nothing but their indices"
    RANDOM = "random numbers and their keys"
    CONTROL = "holds other programs: loops, branches and calls"
    OTHER = "combines elements in a way that nobody looks into; for several groups JAX lifts it by `vmap`"
    # The language's.
    ID = "the id of a work-item or a work-group"
    ALLOCATION = "makes a memory"
    ACCESS = "reads or writes elements of a memory"
    ORDER = "orders accesses to memories: barriers and fences"
    COLLECTIVE = "an algorithm of a group or sub-group"
    STEERING = "says which work-items are active, or what they have in common"


@dataclasses.dataclass(frozen=True)
class Traits:
    """What an operation is, and what holds of it.

    Attributes:
      name: that of its JAX primitive.
      kind: what it does.

      folds: NumPy carries it out to XLA's bits, element by element, on integers and bools (`constant_folding`).
      moves: it only moves or repeats the elements of one operand, and NumPy carries it out (`constant_folding`).
      chooses: each element of the result is one of the operands' at the same index, or a bound on it.
      among: the elements of the result are among those of the first operand.
      fits: an integer result is within its type if the operands are.
      wraps: an integer result may be beyond its type, and wraps.
      partial: on integers it is undefined for some operands: zero divisors, shifts by the width or more.

      slow: an element takes many instructions of a host.
      special: an instruction of the modelled device's extended math, on floats.
      free: no instruction of the modelled device.
      shuffles: on the modelled device the lanes of a sub-group pass elements on, in log2 steps.
      low_word: the low word of an integer result follows from the low words of the operands.

      collective: over all axes of a work-group, the algorithm of the group that the language has too.
      reads, writes: elements of a memory.
      renews: it gives a memory's next version with the same contents.
      mixes: it gives work-items what others have.
    """

    name: str
    kind: Kind
    folds: bool = False
    moves: bool = False
    chooses: bool = False
    among: bool = False
    fits: bool = False
    wraps: bool = False
    partial: bool = False
    slow: bool = False
    special: bool = False
    free: bool = False
    shuffles: bool = False
    low_word: bool = False
    collective: bool = False
    reads: bool = False
    writes: bool = False
    renews: bool = False
    mixes: bool = False

    @property
    def is_of_language(self) -> bool:
        """True if the kernel language has it, and JAX has not."""
        return self.kind in _LANGUAGE

    @property
    def is_elementwise(self) -> bool:
        """True if it takes elements at the same index to one there; of floats too, unlike `folds`."""
        return self.kind is Kind.ELEMENTWISE

    @property
    def is_reduction(self) -> bool:
        """True if it combines all elements along its axes."""
        return self.kind is Kind.REDUCTION

    @property
    def is_scan(self) -> bool:
        """True if it combines each element with those before it."""
        return self.kind is Kind.SCAN

    @property
    def updates(self) -> bool:
        """True if it may give a memory's next version; an atomic load, which is an `xe_atomic`, gives none."""
        return self.writes or self.renews


_LANGUAGE = frozenset((Kind.ID, Kind.ALLOCATION, Kind.ACCESS, Kind.ORDER, Kind.COLLECTIVE, Kind.STEERING))

# By kind each operation with the words that hold of it, see `Traits`.
_TRAITS: Mapping[Kind, Mapping[str, str]] = {
    Kind.ELEMENTWISE: {
        "abs": "folds wraps",
        "acos": "slow special",
        "acosh": "slow special",
        "add": "folds wraps low_word",
        "and": "folds fits low_word",
        "asin": "slow special",
        "asinh": "slow special",
        "atan": "slow special",
        "atan2": "slow special",
        "atanh": "slow special",
        "bitcast_convert_type": "free low_word",
        "cbrt": "slow special",
        "ceil": "",
        "clamp": "folds chooses",
        "clz": "",
        "convert_element_type": "folds wraps",
        "copy": "moves among fits free low_word",
        "copy_p": "",
        "cos": "slow special",
        "cosh": "slow special",
        "digamma": "slow special",
        "div": "folds partial slow",
        "eq": "folds fits",
        "erf": "slow special",
        "erf_inv": "slow special",
        "erfc": "slow special",
        "exp": "slow special",
        "exp2": "slow special",
        "expm1": "slow special",
        "floor": "",
        "fma": "",
        "ge": "folds fits",
        "gt": "folds fits",
        "integer_pow": "folds",
        "is_finite": "",
        "le": "folds fits",
        "lgamma": "slow special",
        "log": "slow special",
        "log1p": "slow special",
        "log2": "slow special",
        "logistic": "slow special",
        "lt": "folds fits",
        "max": "folds chooses fits",
        "min": "folds chooses fits",
        "mul": "folds wraps low_word",
        "ne": "folds fits",
        "neg": "folds wraps low_word",
        "nextafter": "",
        "not": "folds fits low_word",
        "optimization_barrier": "free low_word",
        "one_minus_square": "",
        "or": "folds fits low_word",
        "population_count": "",
        "pow": "slow special",
        "real": "",
        "reduce_precision": "",
        "rem": "folds fits partial slow",
        "round": "",
        "rsqrt": "slow special",
        "select_n": "folds chooses fits",
        "shift_left": "folds partial low_word",
        "shift_right_arithmetic": "folds partial",
        "shift_right_logical": "folds partial",
        "sign": "folds",
        "sin": "slow special",
        "sinh": "slow special",
        "sqrt": "slow special",
        "square": "",
        "stop_gradient": "among free low_word",
        "sub": "folds wraps low_word",
        "tan": "slow special",
        "tanh": "slow special",
        "xor": "folds fits low_word",
    },
    Kind.MOVEMENT: {
        "broadcast_in_dim": "moves among fits free low_word",
        "concatenate": "free low_word",
        "expand_dims": "moves among fits free low_word",
        "pad": "free low_word",
        "reshape": "moves among fits free low_word",
        "rev": "moves among fits free low_word",
        "slice": "moves among fits free low_word",
        "split": "among free low_word",
        "squeeze": "moves among fits free low_word",
        "transpose": "moves among fits free low_word",
    },
    Kind.INDEXING: {
        "dynamic_slice": "among free low_word",
        "dynamic_update_slice": "free low_word",
        "gather": "free low_word",
        "scatter": "",
        "scatter-add": "",
        "scatter-max": "",
        "scatter-min": "",
        "scatter-mul": "",
        "scatter-sub": "",
    },
    Kind.REDUCTION: {
        "argmax": "",
        "argmin": "",
        "reduce_and": "collective",
        "reduce_max": "among collective",
        "reduce_min": "among collective",
        "reduce_or": "collective",
        "reduce_prod": "collective",
        "reduce_sum": "collective",
        "reduce_xor": "collective",
    },
    Kind.SCAN: {
        "cumlogsumexp": "shuffles",
        "cummax": "among shuffles",
        "cummin": "among shuffles",
        "cumprod": "shuffles",
        "cumsum": "shuffles",
    },
    Kind.SORT: {
        "sort": "shuffles",
        "top_k": "",
    },
    Kind.CONTRACTION: {
        "dot_general": "",
    },
    Kind.CREATION: {
        "iota": "free low_word",
    },
    Kind.ID: {"xe_local_id": "", "xe_group_id": ""},
    Kind.ALLOCATION: {"xe_allocate": ""},
    Kind.ACCESS: {"xe_load": "reads", "xe_store": "writes", "xe_atomic": "reads writes"},
    Kind.ORDER: {"xe_barrier": "renews", "xe_fence": "renews"},
    Kind.COLLECTIVE: {"xe_collective": "mixes"},
    Kind.STEERING: {"xe_uniform": "mixes", "xe_region": ""},
}

# Those of which there is nothing more to say.
_PLAIN: Mapping[Kind, tuple[str, ...]] = {
    Kind.RANDOM: (
        "random_bits",
        "random_clone",
        "random_fold_in",
        "random_gamma",
        "random_seed",
        "random_split",
        "random_unwrap",
        "random_wrap",
    ),
    Kind.CONTROL: (
        "checkpoint",
        "closed_call",
        "cond",
        "core_call",
        "custom_jvp_call",
        "custom_vjp_call",
        "custom_vjp_call_jaxpr",
        "eval_jaxpr",
        "jit",
        "pjit",
        "remat2",
        "scan",
        "while",
    ),
    # Some are elementwise, too, such as the Bessel functions and the parts of complex numbers, and not taken for it.
    Kind.OTHER: (
        "add_any",
        "approx_top_k",
        "bessel_i0e",
        "bessel_i1e",
        "broadcast_to",
        "call",
        "call_exported",
        "check",
        "cholesky",
        "cholesky_update",
        "complex",
        "composite",
        "conj",
        "conv_general_dilated",
        "custom_jvp_call_jaxpr",
        "custom_lin",
        "custom_linear_solve",
        "custom_partitioning",
        "custom_vmap_call",
        "debug_callback",
        "debug_print",
        "device_put",
        "dim_as_value",
        "dimension_size",
        "eig",
        "eigh",
        "empty",
        "empty2",
        "eq_to",
        "ffi_call",
        "fft",
        "from_edtype",
        "geqp3",
        "geqrf",
        "hessenberg",
        "householder_product",
        "igamma",
        "igamma_grad_a",
        "igammac",
        "imag",
        "io_callback",
        "iota_2x32_shape",
        "layout_constraint",
        "le_to",
        "linear_call",
        "lt_to",
        "lu",
        "lu_pivots_to_permutation",
        "mulhi",
        "name",
        "ormqr",
        "philox2x32",
        "philox4x32",
        "platform_index",
        "polygamma",
        "pure_callback",
        "qr",
        "ragged_dot_general",
        "reduce",
        "reduce_window",
        "reduce_window_max",
        "reduce_window_min",
        "reduce_window_sum",
        "regularized_incomplete_beta",
        "remat_opt",
        "rng_bit_generator",
        "rng_uniform",
        "scaled_dot",
        "schur",
        "select_and_gather_add",
        "select_and_scatter",
        "select_and_scatter_add",
        "shape_assertion",
        "stack",
        "stage",
        "svd",
        "symmetric_product",
        "threefry2x32",
        "threefry4x32",
        "tie",
        "tile",
        "to_edtype",
        "triangular_solve",
        "tridiagonal",
        "tridiagonal_solve",
        "unstack",
        "with_memory_space_constraint",
        "zeros_like",
        "zeta",
    ),
}


def _made() -> dict[str, Traits]:
    rows = [(kind, name, words) for kind, each in _TRAITS.items() for name, words in each.items()]
    rows += [(kind, name, "") for kind, names in _PLAIN.items() for name in names]
    made = {name: Traits(name, kind, **dict.fromkeys(words.split(), True)) for kind, name, words in rows}
    assert len(made) == len(rows)
    return made


OPS: Mapping[str, Traits] = _made()
"""All of them by name."""
