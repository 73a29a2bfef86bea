# SPDX-License-Identifier: Apache-2.0
"""String formats of CRD schemas, checked as in kube-apiserver.

Value validation looks formats up here; an unknown format is not checked, as in kube-apiserver.
"""

from __future__ import annotations

import binascii
import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final
from urllib.parse import urlsplit

from springtide.local.schema.leaves import CONVERTERS, Unfit

_HOSTNAME = re.compile(
    r"([a-zA-Z0-9](-?[a-zA-Z0-9]{0,62})?|([a-zA-Z0-9](([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)(\.))+([a-zA-Z]){2,63})"
)
_HEX = "[0-9a-fA-F]"
_EMAIL = re.compile(r"(?:.*<)?[^@\s<>,;:\"()\[\]\\]+@[^@\s<>,;:\"()\[\]\\]+>?")
_GO_DURATION = re.compile(r"[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_SCALA_DURATION = re.compile(
    r"\s*\d+\s*(?:ns|nano|nanosecond|us|µs|micro|microsecond|ms|milli|millisecond|s|sec|second|m|min|minute|h|hr|hour"
    r"|d|day|w|wk|week)s?\s*"
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_SHORT_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LONG_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_COLOUR = re.compile(r"rgb\((\d{1,3}),(\d{1,3}),(\d{1,3})\)")


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None


def _uuid(third: str, fourth: str) -> Callable[[str], bool]:
    return _matches(f"{_HEX}{{8}}-?{_HEX}{{4}}-?{third}-?{fourth}-?{_HEX}{{12}}")


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except (ValueError, Unfit):
            return False
        return True

    return check


def _is_date(text: str) -> bool:
    return _DATE.fullmatch(text) is not None and _parses(date.fromisoformat)(text)


def _is_byte(text: str) -> bool:
    return _parses(lambda value: binascii.a2b_base64(value, strict_mode=True))(text)


def _is_uri(text: str) -> bool:
    """As in Go's url.ParseRequestURI: an absolute path or a URI with a scheme."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return text.startswith("/") or (bool(parts.scheme) and ":" in text and " " not in text)


def _is_cidr(text: str) -> bool:
    return "/" in text and _parses(lambda value: ipaddress.ip_network(value, strict=False))(text)


def _is_duration(text: str) -> bool:
    return _GO_DURATION.fullmatch(text) is not None or _SCALA_DURATION.fullmatch(text) is not None


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if re.fullmatch(r"\d{9}[\dX]", digits) is None:
        return False
    return sum((at + 1) * (10 if digit == "X" else int(digit)) for at, digit in enumerate(digits)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if re.fullmatch(r"\d{13}", digits) is None:
        return False
    return sum((3 if at % 2 else 1) * int(digit) for at, digit in enumerate(digits)) % 10 == 0


def _is_credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    known = re.fullmatch(
        r"4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}"
        r"|(?:2131|1800|35\d{3})\d{11}",
        digits,
    )
    if known is None:
        return False
    doubled = [int(digit) * (2 if at % 2 else 1) for at, digit in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _is_rgb(text: str) -> bool:
    match = _COLOUR.fullmatch(text.replace(" ", ""))
    return match is not None and all(int(part) <= 255 for part in match.groups())


FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "bsonobjectid": _matches(f"{_HEX}{{24}}"),
    "uri": _is_uri,
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "hostname": lambda text: len(text) <= 255 and _HOSTNAME.fullmatch(text) is not None,
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "cidr": _is_cidr,
    "mac": _matches(f"{_HEX}{{2}}([:-]{_HEX}{{2}}){{5}}|{_HEX}{{4}}(\\.{_HEX}{{4}}){{2}}"),
    "uuid": _uuid(f"{_HEX}{{4}}", f"{_HEX}{{4}}"),
    "uuid3": _uuid(f"3{_HEX}{{3}}", f"{_HEX}{{4}}"),
    "uuid4": _uuid(f"4{_HEX}{{3}}", f"[89abAB]{_HEX}{{3}}"),
    "uuid5": _uuid(f"5{_HEX}{{3}}", f"[89abAB]{_HEX}{{3}}"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": _matches(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "hexcolor": _matches(f"#?({_HEX}{{3}}|{_HEX}{{6}})"),
    "rgbcolor": _is_rgb,
    "byte": _is_byte,
    "password": lambda text: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _parses(CONVERTERS["time"]),
    "k8sshortname": lambda text: len(text) <= 63 and _SHORT_NAME.fullmatch(text) is not None,
    "k8slongname": lambda text: len(text) <= 253 and _LONG_NAME.fullmatch(text) is not None,
}
"""By name without dashes, as kube-apiserver looks them up."""


def format_check(name: str) -> Callable[[str], bool] | None:
    return FORMATS.get(name.replace("-", ""))
