"""Printed numbers: a number as `printf` of C prints it (C11, 7.21.6.1)."""

import math
import re


def number(x: int | float, kind: str, flags: str, width: int, precision: int | None) -> str:
    """The text of a number.

    Args:
      x: in the range of its type.
      kind: the letter of the conversion, one of `diouxXfFeEgGaA`.
      flags: any of `-+ #0`.
      width: the least length of the text.
      precision: None where none is written.
    """
    is_whole = kind in "diouxX"
    sign = _sign(x, flags) if kind not in "ouxX" else ""
    prefix, digits = (_whole if is_whole else _real)(abs(x), kind, "#" in flags, precision)
    head = sign + (prefix.upper() if kind.isupper() else prefix)
    text = digits.upper() if kind.isupper() else digits
    if "-" in flags:
        return (head + text).ljust(width)
    fills = "0" in flags and math.isfinite(x) and not (is_whole and precision is not None)
    return head + text.rjust(width - len(head), "0") if fills else (head + text).rjust(width)


def _sign(x: int | float, flags: str) -> str:
    return "-" if math.copysign(1, x) < 0 else "+" if "+" in flags else " " if " " in flags else ""


def _whole(x: int | float, kind: str, alternative: bool, precision: int | None) -> tuple[str, str]:
    """What comes before the digits of an integer that is not negative, and these."""
    digits = format(int(x), kind.lower() if kind in "oxX" else "d") if x or precision != 0 else ""
    digits = digits.rjust(precision or 0, "0")
    if alternative and kind == "o" and not digits.startswith("0"):
        return "", f"0{digits}"
    return "0x" if alternative and kind in "xX" and x else "", digits


def _real(x: int | float, kind: str, alternative: bool, precision: int | None) -> tuple[str, str]:
    """What comes before the digits of a float that is not negative, and these."""
    if not math.isfinite(x):
        return "", "nan" if math.isnan(x) else "inf"
    if kind in "aA":
        return "0x", _hexadecimal(float(x), alternative, precision)
    given = "" if precision is None else f".{precision}"
    return "", f"%{'#' if alternative else ''}{given}{kind.lower()}" % x


def _hexadecimal(x: float, alternative: bool, precision: int | None) -> str:
    if precision is None:
        text = re.sub(r"\.?0*p", "p", x.hex(), count=1).removeprefix("0x")
        return text.replace("p", ".p") if alternative and "." not in text else text
    mantissa, exponent = math.frexp(x)
    # As many digits as a double has are exact.
    rounded = round(2 * mantissa * 16 ** min(precision, 13)) * 16 ** max(precision - 13, 0)
    first, rest = divmod(rounded, 16**precision)
    digits = f".{rest:0{precision}x}" if precision else "." if alternative else ""
    return f"{first}{digits}p{exponent - 1 if x else 0:+d}"
