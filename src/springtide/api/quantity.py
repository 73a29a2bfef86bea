# SPDX-License-Identifier: Apache-2.0
"""Kubernetes quantities (`500m`, `1Gi`, `2e3`) as exact numbers.

Used wherever amounts are compared or summed (quota, scheduling, autoscaling) and wherever an object is decoded, because
kube-apiserver returns quantities in a canonical form. Amounts are whole nano-units, Kubernetes' finest, so no
arithmetic here ever rounds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache, total_ordering
from typing import Final

NANO: Final = 10**9


class Form(Enum):
    """The format of an amount; a sum keeps the form of its first non-zero part."""

    DECIMAL = "DecimalSI"
    BINARY = "BinarySI"
    EXPONENT = "DecimalExponent"


class QuantityError(ValueError):
    """The text is not a quantity; the message is kube-apiserver's."""


_NO_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
LONGEST: Final = 1024
"""Characters. kube-apiserver has no limit; the largest useful amount has 20."""
_NO_SUFFIX = "unable to parse quantity's suffix"

_PARTS = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]{1,3})")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {exponent: suffix for suffix, exponent in _BINARY.items()} | {0: ""}
_LARGEST_BINARY = (2**63 - 1) * NANO
_FAST_DIGITS = 18  # up to here Go keeps the original text if it is canonical enough


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    nanos: int
    form: Form = Form.DECIMAL

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.nanos + other.nanos, self.form if self.nanos else other.form)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.nanos - other.nanos, self.form if self.nanos else other.form)

    def __mul__(self, count: int) -> Quantity:
        return Quantity(self.nanos * count, self.form)

    def __neg__(self) -> Quantity:
        return Quantity(-self.nanos, self.form)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nanos == other.nanos

    def __lt__(self, other: Quantity) -> bool:
        return self.nanos < other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __bool__(self) -> bool:
        return self.nanos != 0

    @property
    def value(self) -> int:
        """Whole units, rounded away from zero as Kubernetes does."""
        return _scaled_up(self.nanos, NANO)

    @property
    def milli(self) -> int:
        """Thousandths, rounded away from zero."""
        return _scaled_up(self.nanos, NANO // 1000)

    def __str__(self) -> str:
        """The canonical form: no fraction, the largest suffix that leaves a whole number."""
        if not self.nanos:
            return "0"
        whole, rest = divmod(self.nanos, NANO)
        if self.form is Form.BINARY and not rest and not -1024 < whole < 1024:
            return _binary(whole)
        return _decimal(self.nanos, self.form)


ZERO: Final = Quantity(0)


def of(units: int) -> Quantity:
    """A whole number of units."""
    return Quantity(units * NANO)


def parse(text: str) -> Quantity:
    """Parses a quantity; amounts finer than a nano-unit are rounded away from zero."""
    return _parse(text[: LONGEST + 1])  # limits what errors and the cache keep


@lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity:
    sign, whole, fraction, suffix = _parts(text)
    amount = int(whole + fraction or "0")
    scale = 9 - len(fraction)
    form = Form.DECIMAL
    if suffix in _DECIMAL:
        scale += _DECIMAL[suffix]
    elif suffix in _BINARY:
        form = Form.BINARY
        amount <<= _BINARY[suffix]
    else:
        form = Form.EXPONENT
        scale += _exponent(suffix)
    nanos = amount * 10**scale if scale >= 0 else -(-amount // 10**-scale)
    if form is Form.BINARY:
        nanos = min(nanos, _LARGEST_BINARY)
        if 0 < nanos < NANO:
            form = Form.DECIMAL
    return Quantity(-nanos if sign == "-" else nanos, form)


def _parts(text: str) -> tuple[str, str, str, str]:
    """Sign, whole digits, fraction, suffix."""
    if len(text) > LONGEST:
        raise QuantityError(f"quantities may have at most {LONGEST} characters")
    match = _PARTS.fullmatch(text)
    if match is None or not text:
        raise QuantityError(_NO_FORMAT)
    sign, whole, fraction, suffix = match.groups(default="")
    return sign, whole, fraction, suffix


def _exponent(suffix: str) -> int:
    match = _EXPONENT.fullmatch(suffix)
    if match is None:
        raise QuantityError(_NO_SUFFIX)
    return int(match[1])


@lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    """The text that kube-apiserver returns for a quantity: mostly, but not always, the canonical form.

    Go's parser keeps a text that it considers canonical enough (`1.500`, `+5`, `1E3`), and clients compare strings.
    """
    quantity = parse(text)
    return text if _kept(text) else str(quantity)


def _kept(text: str) -> bool:
    _, whole, fraction, suffix = _parts(text)
    digits = (whole or "0") + fraction
    if suffix in _BINARY:
        exact = not fraction and 14 - len(whole or "0") - _BINARY[suffix] * 3 // 10 >= 0
        return exact and int(digits) & 7 != 0
    scale = (_DECIMAL[suffix] if suffix in _DECIMAL else _exponent(suffix)) - len(fraction)
    fast = len(digits) <= _FAST_DIGITS and scale >= -9
    return fast and scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _scaled_up(nanos: int, unit: int) -> int:
    return -(-nanos // unit) if nanos > 0 else nanos // unit


def _binary(whole: int) -> str:
    exponent = 0
    while exponent < 60 and whole % 1024 == 0:
        whole //= 1024
        exponent += 10
    return f"{whole}{_BINARY_SUFFIX[exponent]}"


def _decimal(nanos: int, form: Form) -> str:
    exponent = -9
    largest = 18 if form is Form.DECIMAL else 999
    while exponent < largest and nanos % 1000 == 0:
        nanos //= 1000
        exponent += 3
    if form is Form.DECIMAL or form is Form.BINARY:
        return f"{nanos}{_DECIMAL_SUFFIX[exponent]}"
    return f"{nanos}e{exponent}" if exponent else str(nanos)
