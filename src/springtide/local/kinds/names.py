# SPDX-License-Identifier: Apache-2.0
"""Syntax rules for names, keys, ports and addresses, with Kubernetes' error messages.

Every rule takes the text and returns its errors: none for nearly all input, so the first regular expression decides and
messages are made only after it failed. Callers add the field; the rules are independent of kinds and paths.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from ipaddress import IPv6Address, ip_address

Rule = Callable[[str], Sequence[str]]
"""From text to errors."""

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

_LABEL_RE = re.compile(_LABEL)
_SUBDOMAIN_RE = re.compile(_SUBDOMAIN)
_1035_RE = re.compile("[a-z]([-a-z0-9]*[a-z0-9])?")
_KEY_RE = re.compile(_KEY)
_CONFIG_KEY_RE = re.compile("[-._a-zA-Z0-9]+")
_PORT_NAME_RE = re.compile("(?!-)(?!.*--)(?=.*[a-z])[-a-z0-9]{1,15}(?<!-)")
_ENV_NAME_RE = re.compile("[ -<>-~]+")
_C_IDENTIFIER_RE = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_HEADER_RE = re.compile("[-A-Za-z0-9]+")
_UNDERSCORED = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORED_SUBDOMAIN = rf"{_UNDERSCORED}(\.{_UNDERSCORED})*"
_UNDERSCORED_RE = re.compile(_UNDERSCORED_SUBDOMAIN)

MAX_LABEL = 63
MAX_SUBDOMAIN = 253
NEGATIVE = "must be greater than or equal to 0"


def _pattern(rule: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"


def _too_long(text: str, limit: int, unit: str = "characters") -> list[str]:
    return [f"must be no more than {limit} {unit}"] if len(text.encode()) > limit else []


def dns_label(text: str) -> Sequence[str]:
    """RFC 1123 label: namespaces, services, containers, volumes."""
    matched = _LABEL_RE.fullmatch(text)
    if matched and len(text) <= MAX_LABEL:
        return ()
    complaints = _too_long(text, MAX_LABEL)
    if not matched:
        complaints.append("must not contain dots" if _SUBDOMAIN_RE.fullmatch(text) else _LABEL_SENTENCE)
    return complaints


def dns_subdomain(text: str) -> Sequence[str]:
    """RFC 1123 subdomain: the name of nearly everything else."""
    matched = _SUBDOMAIN_RE.fullmatch(text)
    if matched and len(text) <= MAX_SUBDOMAIN:
        return ()
    complaints = _too_long(text, MAX_SUBDOMAIN)
    if not matched:
        complaints.append(_SUBDOMAIN_SENTENCE)
    return complaints


def dns_subdomain_with_underscore(text: str) -> Sequence[str]:
    """A search domain of a pod's DNS configuration, which may contain labels such as `_sctp._tcp`."""
    matched = _UNDERSCORED_RE.fullmatch(text)
    if matched and len(text) <= MAX_SUBDOMAIN:
        return ()
    complaints = _too_long(text, MAX_SUBDOMAIN)
    if not matched:
        complaints.append(_UNDERSCORED_SENTENCE)
    return complaints


def dns_1035_label(text: str) -> Sequence[str]:
    """A label that must start with a letter."""
    matched = _1035_RE.fullmatch(text)
    if matched and len(text) <= MAX_LABEL:
        return ()
    complaints = _too_long(text, MAX_LABEL)
    if not matched:
        complaints.append(_1035_SENTENCE)
    return complaints


def path_segment(text: str) -> Sequence[str]:
    """Any text that can be a URL path segment: the names of RBAC objects."""
    if text in (".", ".."):
        return (f"may not be '{text}'",)
    return [f"may not contain '{sign}'" for sign in "/%" if sign in text]


def qualified_name(text: str) -> Sequence[str]:
    """A label key, annotation key, finalizer or taint key: `[prefix/]name`."""
    prefix, slash, name = text.rpartition("/")
    matched = _KEY_RE.fullmatch(name)
    if matched and len(name) <= MAX_LABEL and (not slash or _is_subdomain(prefix)):
        return ()
    if "/" in prefix:
        sentence = f"a valid label key {_KEY_SENTENCE}"
        return (f"{sentence} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",)
    complaints = _prefix_complaints(prefix) if slash else []
    if not name:
        complaints.append("name part must be non-empty")
    complaints += [f"name part {complaint}" for complaint in _too_long(name, MAX_LABEL, "bytes")]
    if not matched:
        complaints.append(f"name part {_KEY_SENTENCE}")
    return complaints


def _is_subdomain(text: str) -> bool:
    return len(text) <= MAX_SUBDOMAIN and _SUBDOMAIN_RE.fullmatch(text) is not None


def _prefix_complaints(prefix: str) -> list[str]:
    if not prefix:
        return ["prefix part must be non-empty"]
    complaints = _too_long(prefix, MAX_SUBDOMAIN, "bytes")
    if not _SUBDOMAIN_RE.fullmatch(prefix):
        complaints.append(_SUBDOMAIN_SENTENCE)
    return [f"prefix part {complaint}" for complaint in complaints]


def label_value(text: str) -> Sequence[str]:
    if not text:
        return ()
    matched = _KEY_RE.fullmatch(text)
    if matched and len(text) <= MAX_LABEL:
        return ()
    complaints = _too_long(text, MAX_LABEL, "bytes")
    if not matched:
        complaints.append(_LABEL_VALUE_SENTENCE)
    return complaints


def config_key(text: str) -> Sequence[str]:
    """A key of a ConfigMap or Secret, which becomes a file name."""
    matched = _CONFIG_KEY_RE.fullmatch(text)
    if matched and len(text) <= MAX_SUBDOMAIN and not text.startswith("."):
        return ()
    complaints = _too_long(text, MAX_SUBDOMAIN)
    if not matched:
        complaints.append(_CONFIG_KEY_SENTENCE)
    if text in (".", ".."):
        complaints.append(f"must not be '{text}'")
    elif text.startswith(".."):
        complaints.append("must not start with '..'")
    return complaints


def env_var_name(text: str) -> Sequence[str]:
    if _ENV_NAME_RE.fullmatch(text):
        return ()
    if not text:
        return ("environment variable name must be non-empty",)
    return ("a valid environment variable name must consist only of printable ASCII characters other than '='",)


def c_identifier(text: str) -> Sequence[str]:
    return () if _C_IDENTIFIER_RE.fullmatch(text) else (_C_IDENTIFIER_SENTENCE,)


def http_header_name(text: str) -> Sequence[str]:
    return () if _HEADER_RE.fullmatch(text) else (_HEADER_SENTENCE,)


def port_name(text: str) -> Sequence[str]:
    """An IANA service name: the name of a container port or a target port."""
    if _PORT_NAME_RE.fullmatch(text):
        return ()
    complaints = _too_long(text, 15)
    if not re.fullmatch("[-a-z0-9]+", text):
        complaints.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", text):
        complaints.append("must contain at least one letter (a-z)")
    if "--" in text:
        complaints.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        complaints.append("must not begin or end with a hyphen")
    return complaints


def within(value: int, low: int, high: int) -> Sequence[str]:
    return () if low <= value <= high else (f"must be between {low} and {high}, inclusive",)


def port_number(value: int) -> Sequence[str]:
    return within(value, 1, 65535)


def user_id(value: int) -> Sequence[str]:
    """A user or group ID."""
    return within(value, 0, 2**31 - 1)


_SLOPPY_V4_RE = re.compile(r"0*\d{1,3}(\.0*\d{1,3}){3}")


def ip(text: str) -> Sequence[str]:
    """An address in a field older than strict checking: any IPv6 notation, but no leading zeros."""
    try:
        address = ip_address(text)
    except ValueError:
        octets = text.split(".") if _SLOPPY_V4_RE.fullmatch(text) else []
        if octets and all(int(octet[-3:]) <= 255 for octet in octets):
            return ("must not have leading 0s",)
        return ("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",)
    if isinstance(address, IPv6Address) and (address.ipv4_mapped is not None or address.scope_id is not None):
        if address.scope_id is not None:
            return ("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",)
        return ("must not be an IPv4-mapped IPv6 address",)
    return ()


_LABEL_SENTENCE = _pattern(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character",
    _LABEL,
    "my-name",
    "123-abc",
)
_SUBDOMAIN_SENTENCE = _pattern(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character",
    _SUBDOMAIN,
    "example.com",
)
_UNDERSCORED_SENTENCE = _pattern(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
    "and must start and end with an alphanumeric character",
    _UNDERSCORED_SUBDOMAIN,
    "example.com",
)
_1035_SENTENCE = _pattern(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character",
    _1035_RE.pattern,
    "my-name",
    "abc-123",
)
_KEY_SENTENCE = _pattern(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    _KEY,
    "MyName",
    "my.name",
    "123-abc",
)
_LABEL_VALUE_SENTENCE = _pattern(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character",
    f"({_KEY})?",
    "MyValue",
    "my_value",
    "12345",
)
_CONFIG_KEY_SENTENCE = _pattern(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _CONFIG_KEY_RE.pattern,
    "key.name",
    "KEY_NAME",
    "key-name",
)
_C_IDENTIFIER_SENTENCE = _pattern(
    "a valid C identifier must start with alphabetic character or '_', "
    "followed by a string of alphanumeric characters or '_'",
    _C_IDENTIFIER_RE.pattern,
    "my_name",
    "MY_NAME",
    "MyName",
)
_HEADER_SENTENCE = _pattern(
    "a valid HTTP header must consist of alphanumeric characters or '-'", _HEADER_RE.pattern, "X-Header-Name"
)
