# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' CEL functions: quantities, URLs, addresses, versions, regular expressions, named formats."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import total_ordering
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from springtide.api import quantity
from springtide.api.quantity import NANO, Quantity, QuantityError
from springtide.local.schema.cel.library import checked
from springtide.local.schema.cel.registry import function
from springtide.local.schema.cel.strings import searched
from springtide.local.schema.cel.values import NONE, CelError, Optional
from springtide.local.schema.formats import format_check

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# --- quantities


@function("quantity(string) quantity")
def _quantity(text: str) -> Quantity:
    try:
        return quantity.parse(text)
    except QuantityError as error:
        raise CelError(str(error)) from None


@function("isQuantity(string) bool")
def _is_quantity(text: str) -> bool:
    try:
        quantity.parse(text)
    except QuantityError:
        return False
    return True


@function("sign(quantity) int")
def _sign(amount: Quantity) -> int:
    return (amount.nanos > 0) - (amount.nanos < 0)


@function("quantity.isGreaterThan(quantity) bool")
def _greater(left: Quantity, right: Quantity) -> bool:
    return left > right


@function("quantity.isLessThan(quantity) bool")
def _less(left: Quantity, right: Quantity) -> bool:
    return left < right


@function("quantity.compareTo(quantity) int")
def _compared(left: Quantity, right: Quantity) -> int:
    return (left > right) - (left < right)


@function("quantity.asApproximateFloat() double")
def _as_float(amount: Quantity) -> float:
    return amount.nanos / NANO


@function("quantity.isInteger() bool")
def _is_integer(amount: Quantity) -> bool:
    return amount.nanos % NANO == 0 and abs(amount.nanos // NANO) < 2**63


@function("quantity.asInteger() int")
def _as_integer(amount: Quantity) -> int:
    if not _is_integer(amount):
        raise CelError("cannot convert value to integer")
    return checked(amount.nanos // NANO)


@function("quantity.add(quantity) quantity", "quantity.add(int) quantity")
def _plus(left: Quantity, right: Quantity | int) -> Quantity:
    return left + (quantity.of(right) if isinstance(right, int) else right)


@function("quantity.sub(quantity) quantity", "quantity.sub(int) quantity")
def _minus(left: Quantity, right: Quantity | int) -> Quantity:
    return left - (quantity.of(right) if isinstance(right, int) else right)


# --- URLs


@dataclass(frozen=True, slots=True)
class Url:
    text: str


def _is_request_uri(text: str) -> bool:
    check = format_check("uri")
    return check is not None and check(text) and not re.search(r"[\x00-\x20\x7f]", text)


@function("url(string) url")
def _url(text: str) -> Url:
    if not _is_request_uri(text):
        raise CelError(
            f"URL parse error during conversion from string: parse {_go_quoted(text)}: invalid URI for request"
        )
    return Url(text)


def _go_quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@function("isURL(string) bool")
def _is_url(text: str) -> bool:
    return _is_request_uri(text)


@function("url.getScheme() string")
def _scheme(url: Url) -> str:
    return urlsplit(url.text).scheme


@function("url.getHost() string")
def _host(url: Url) -> str:
    return urlsplit(url.text).netloc.rpartition("@")[2]


@function("url.getHostname() string")
def _hostname(url: Url) -> str:
    host = _host(url)
    return host[1 : host.index("]")] if host.startswith("[") else host.partition(":")[0]


@function("url.getPort() string")
def _port(url: Url) -> str:
    return _host(url).rpartition("]")[2].rpartition(":")[2] if ":" in _host(url).rpartition("]")[2] else ""


@function("url.getEscapedPath() string")
def _escaped_path(url: Url) -> str:
    return quote(urlsplit(url.text).path, safe="/%:@!$&'()*+,;=-._~")


@function("url.getQuery() map(string, list(string))")
def _query(url: Url) -> dict[str, list[str]]:
    return parse_qs(urlsplit(url.text).query, keep_blank_values=True)


# --- addresses


@function("ip(string) ip")
def _ip(text: str) -> Address:
    address = _address(text)
    if address is None:
        raise CelError(
            f'IP Address "{text}" parse error during conversion from string: ParseAddr("{text}"): unable to parse IP'
        )
    return address


def _address(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None
    return None if mapped or "%" in text else address


@function("isIP(string) bool")
def _is_ip(text: str) -> bool:
    return _address(text) is not None


@function("static ip.isCanonical(string) bool")
def _is_canonical(text: str) -> bool:
    return str(_ip(text)) == text


def _declare_address_checks() -> None:
    checks: dict[str, Callable[[Address], bool]] = {
        "isUnspecified": lambda address: address.is_unspecified,
        "isLoopback": lambda address: address.is_loopback,
        "isLinkLocalMulticast": _is_link_local_multicast,
        "isLinkLocalUnicast": lambda address: address.is_link_local,
        "isGlobalUnicast": _is_global_unicast,
    }
    for name, check in checks.items():
        function(f"ip.{name}() bool")(check)


def _is_link_local_multicast(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return address in ipaddress.IPv4Network("224.0.0.0/24")
    return (int(address) >> 112) & 0xFF0F == 0xFF02


def _is_global_unicast(address: Address) -> bool:
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not special and str(address) != "255.255.255.255"


@function("ip.family() int")
def _family(address: Address) -> int:
    return address.version


@function("string(ip) string", "string(cidr) string")
def _address_text(value: Address | Network) -> str:
    return str(value)


@dataclass(frozen=True, slots=True)
class Cidr:
    """A network in CIDR notation with the original address, which may be a host address."""

    address: Address
    network: Network

    def __str__(self) -> str:
        return f"{self.address}/{self.network.prefixlen}"


def _parse_cidr(text: str) -> Cidr | None:
    address, slash, length = text.partition("/")
    parsed = _address(address)
    if parsed is None or not slash or not length.isdigit():
        return None
    try:
        return Cidr(parsed, ipaddress.ip_network(text, strict=False))
    except ValueError:
        return None


@function("cidr(string) cidr")
def _cidr(text: str) -> Cidr:
    cidr = _parse_cidr(text)
    if cidr is None:
        raise CelError(
            f"network address parse error during conversion from string: netip.ParsePrefix({_go_quoted(text)})"
        )
    return cidr


@function("isCIDR(string) bool")
def _is_cidr(text: str) -> bool:
    return _parse_cidr(text) is not None


@function("cidr.containsIP(string) bool", "cidr.containsIP(ip) bool")
def _contains_ip(cidr: Cidr, address: str | Address) -> bool:
    parsed = _ip(address) if isinstance(address, str) else address
    return parsed in cidr.network


@function("cidr.containsCIDR(string) bool", "cidr.containsCIDR(cidr) bool")
def _contains_cidr(cidr: Cidr, other: str | Cidr) -> bool:
    inner = (_cidr(other) if isinstance(other, str) else other).network
    same = inner.version == cidr.network.version
    return same and inner.network_address in cidr.network and inner.prefixlen >= cidr.network.prefixlen


@function("cidr.ip() ip")
def _cidr_ip(cidr: Cidr) -> Address:
    return cidr.address


@function("cidr.prefixLength() int")
def _prefix_length(cidr: Cidr) -> int:
    return cidr.network.prefixlen


@function("cidr.masked() cidr")
def _masked(cidr: Cidr) -> Cidr:
    return Cidr(cidr.network.network_address, cidr.network)


_declare_address_checks()

# --- versions

_SEMVER = re.compile(
    r"(0|[1-9]\d{0,18})\.(0|[1-9]\d{0,18})\.(0|[1-9]\d{0,18})(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?"
)


@total_ordering
@dataclass(frozen=True, slots=True)
class Semver:
    numbers: tuple[int, int, int]
    pre: tuple[tuple[int, int, str], ...]
    """Pre-release identifiers, each as (is text, number, text): numbers sort before text."""

    def __lt__(self, other: Semver) -> bool:
        return (self.numbers, not self.pre, self.pre) < (other.numbers, not other.pre, other.pre)


def _parse_semver(text: str, normalize: bool = False) -> Semver | None:
    match = _SEMVER.fullmatch(_normalized(text) if normalize else text)
    if match is None:
        return None
    parts = [part for part in (match[4] or "").split(".") if part]
    if any(part.isdigit() and len(part) > 19 for part in parts):
        return None
    pre = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts)
    return Semver((int(match[1]), int(match[2]), int(match[3])), pre)


def _normalized(text: str) -> str:
    """`v1.02` as `1.2.0`."""
    core = re.match(r"v?([0-9.]*)", text.strip())
    assert core is not None
    parts = [part.lstrip("0") or "0" if part else "" for part in core[1].split(".")]
    return ".".join([*parts, "0", "0"][: max(3, len(parts))]) + text.strip()[core.end() :]


@function("semver(string) semver", "semver(string, bool) semver")
def _semver(text: str, normalize: bool = False) -> Semver:
    version = _parse_semver(text, normalize)
    if version is None:
        raise CelError("No Major.Minor.Patch elements found")
    return version


@function("isSemver(string) bool", "isSemver(string, bool) bool")
def _is_semver(text: str, normalize: bool = False) -> bool:
    return _parse_semver(text, normalize) is not None


@function("semver.major() int")
def _major(version: Semver) -> int:
    return version.numbers[0]


@function("semver.minor() int")
def _minor(version: Semver) -> int:
    return version.numbers[1]


@function("semver.patch() int")
def _patch(version: Semver) -> int:
    return version.numbers[2]


@function("semver.isGreaterThan(semver) bool")
def _newer(left: Semver, right: Semver) -> bool:
    return left > right


@function("semver.isLessThan(semver) bool")
def _older(left: Semver, right: Semver) -> bool:
    return left < right


@function("semver.compareTo(semver) int")
def _semver_compared(left: Semver, right: Semver) -> int:
    return (left > right) - (left < right)


# --- regular expressions


@function("string.find(string) string")
def _find(text: str, pattern: str) -> str:
    return next(iter(searched(pattern, text, lambda compiled: compiled.findall(text, 1))), "")


@function("string.findAll(string) list(string)", "string.findAll(string, int) list(string)")
def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    return searched(pattern, text, lambda compiled: compiled.findall(text, limit))


# --- named formats


@dataclass(frozen=True, slots=True)
class NamedFormat:
    name: str
    check: Callable[[str], bool]

    @property
    def pattern_size(self) -> int:
        """Length of the pattern by which kube-apiserver charges a check."""
        return _PATTERN_SIZES.get(self.name, 30)


def _full(pattern: str, longest: int) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: len(text) <= longest and compiled.fullmatch(text) is not None


_NAME = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]"
_NAMED: dict[str, Callable[[str], bool]] = {
    "dns1123Label": _full(_NAME, 63),
    "dns1123Subdomain": _full(rf"{_NAME}(\.{_NAME})*", 253),
    "dns1035Label": _full("[a-z]([-a-z0-9]*[a-z0-9])?", 63),
    "qualifiedName": _full(rf"({_NAME}(\.{_NAME})*/)?{_QUALIFIED}", 317),
    "dns1123LabelPrefix": _full("[a-z0-9][-a-z0-9]*", 63),
    "dns1123SubdomainPrefix": _full(r"[a-z0-9][-a-z0-9.]*", 253),
    "dns1035LabelPrefix": _full("[a-z][-a-z0-9]*", 63),
    "labelValue": _full(f"({_QUALIFIED})?", 63),
    **{name: check for name in ("uri", "uuid", "byte", "date", "datetime") if (check := format_check(name))},
}


_PATTERN_SIZES = {
    "dns1123Subdomain": 60,
    "dns1123SubdomainPrefix": 60,
    "qualifiedName": 60,
    "labelValue": 40,
    "uri": 1103,
    "uuid": 70,
    "byte": 84,
    "date": 71,
    "datetime": 71,
}


@function("static format.named(string) optional_type(format)")
def _named(name: str) -> Optional:
    return Optional(True, NamedFormat(name, _NAMED[name])) if name in _NAMED else NONE


def _declare_formats() -> None:
    for name, check in _NAMED.items():
        function(f"static format.{name}() format")(lambda name=name, check=check: NamedFormat(name, check))


_declare_formats()


@function("format.validate(string) optional_type(list(string))")
def _validate(format_: NamedFormat, text: str) -> Optional:
    """None when the text is valid. kube-apiserver's messages are longer; rules rarely show them."""
    if format_.check(text):
        return NONE
    complaints: list[Any] = [f"must be a valid {format_.name}"]
    return Optional(True, complaints)
