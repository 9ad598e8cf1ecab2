"""Catalogue: the built-in functions that only compute, by name."""

import functools
import itertools
import re
from collections.abc import Mapping, Sequence

from xeemu.frontends import types
from xeemu.frontends.builtins import (
    bits,
    common,
    conversions,
    geometry,
    integers,
    mathematics,
    reinterpretation,
    relations,
    shuffles,
)
from xeemu.frontends.builtins.components import Builtin, Elemental, WithPointer, by_component, pairs
from xeemu.frontends.types import Type
from xeemu.frontends.values import Value

_INTEGERS: Mapping[str, Elemental] = {
    "abs": integers.absolute,
    "abs_diff": integers.difference,
    "add_sat": integers.sum_saturated,
    "bit_reverse": bits.reversed_bits,
    "bitfield_extract_signed": bits.field_extracted,
    "bitfield_extract_unsigned": bits.field_extracted,
    "bitfield_insert": bits.field_inserted,
    "clz": bits.leading_zeros,
    "ctz": bits.trailing_zeros,
    "hadd": integers.mean(False),
    "mad24": integers.product_added,
    "mad_hi": integers.high_product_added,
    "mad_sat": integers.product_added_saturated,
    "mul24": integers.operator("*"),
    "mul_hi": integers.high_product,
    "popcount": bits.set_bits,
    "rhadd": integers.mean(True),
    "rotate": bits.rotated,
    "sub_sat": integers.difference_saturated,
    "upsample": bits.upsampled,
}

_COMMON: Mapping[str, Elemental] = {
    "bitselect": relations.bitselect,
    "clamp": integers.clamp,
    "degrees": common.scaling(180 / mathematics.PI),
    "max": common.extreme("max"),
    "min": common.extreme("min"),
    "mix": common.mix,
    "radians": common.scaling(mathematics.PI / 180),
    "sign": common.sign,
    "smoothstep": common.smoothstep,
    "step": common.step,
}

_WHOLE: Mapping[str, Builtin] = {
    "all": relations.all_of,
    "any": relations.any_of,
    "cross": geometry.cross,
    "distance": geometry.distance,
    "dot": geometry.dot,
    "fast_distance": geometry.fast_distance,
    "fast_length": geometry.fast_length,
    "fast_normalize": geometry.fast_normalize,
    "isequal": relations.compared("=="),
    "isfinite": relations.is_finite,
    "isgreater": relations.compared(">"),
    "isgreaterequal": relations.compared(">="),
    "isinf": relations.is_infinite,
    "isless": relations.compared("<"),
    "islessequal": relations.compared("<="),
    "islessgreater": relations.less_or_greater,
    "isnan": relations.is_nan,
    "isnormal": relations.is_normal,
    "isnotequal": relations.compared("!="),
    "isordered": relations.ordered,
    "isunordered": relations.unordered,
    "length": geometry.length,
    "normalize": geometry.normalize,
    "select": relations.select,
    "shuffle": shuffles.shuffle,
    "shuffle2": shuffles.shuffle,
    "signbit": relations.sign_bit,
    "vec_step": shuffles.count,
}

_TYPE = r"(?:u?(?:char|short|int|long)|half|float|double)(?:2|3|4|8|16)?"
_CONVERSION = re.compile(rf"convert_{_TYPE}(_sat)?(?:_({'|'.join(conversions.MODES)}))?")
_REINTERPRETATION = re.compile(rf"as_{_TYPE}")
_PACKED = re.compile(r"dot(_acc_sat)?_4x8packed_([us])([us])_(u?int)")


@functools.cache
def find(name: str) -> Builtin | None:
    """What computes a call of a built-in function; None if it is not one of those that only compute."""
    if name in _WHOLE:
        return _WHOLE[name]
    elemental = _INTEGERS.get(name) or _COMMON.get(name) or mathematics.FUNCTIONS.get(name)
    if elemental is not None:
        return by_component(elemental)
    if name == "dot_acc_sat":
        return _accumulated
    if match := _CONVERSION.fullmatch(name):
        return conversions.converting(match[1] is not None, match[2])
    if _REINTERPRETATION.fullmatch(name):
        return reinterpretation.reinterpreted
    if match := _PACKED.fullmatch(name):
        return _packed(match[1] is not None, match[2], match[3])
    return None


@functools.cache
def find_with_pointer(name: str) -> WithPointer | None:
    """Of a function that also stores through its last argument, a pointer, which is left out of the arguments.

    What it gives is what it returns and what it stores.
    """
    function = mathematics.WITH_POINTER.get(name)
    return None if function is None else pairs(function)


def _accumulated(arguments: Sequence[Value], of: Type) -> Value:
    """`dot_acc_sat`: the product of integer vectors, added with saturation."""
    *vectors, total = arguments
    return by_component(integers.sum_saturated)([geometry.dot(vectors, of), total], of)


def _packed(saturated: bool, *signs: str) -> Builtin:
    """`dot_4x8packed_...`: of four bytes in each 32 bits."""
    bytes_of = [types.Vector(types.UCHAR if sign == "u" else types.CHAR, 4) for sign in signs]

    def computed(arguments: Sequence[Value], of: Type) -> Value:
        parts = itertools.starmap(
            lambda value, vector: reinterpretation.reinterpreted([value], vector),
            zip(arguments, bytes_of, strict=False),
        )
        product = geometry.dot(list(parts), of)
        return by_component(integers.sum_saturated)([product, arguments[-1]], of) if saturated else product

    return computed


NAMES = (*_INTEGERS, *_COMMON, *_WHOLE, *mathematics.FUNCTIONS, "dot_acc_sat")
"""Those with a name of their own; conversions, reinterpretations and packed products are named by pattern."""
