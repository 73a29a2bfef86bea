# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from springtide.local.kinds import names
from springtide.local.kinds.names import Rule


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (names.dns_label, "a"),
        (names.dns_label, "1-a"),
        (names.dns_label, "a" * 63),
        (names.dns_subdomain, "a.b-c.1"),
        (names.dns_subdomain, "a" * 253),
        (names.dns_1035_label, "a1-b"),
        (names.path_segment, "system:node"),
        (names.qualified_name, "example.com/MyName_1.x"),
        (names.qualified_name, "a"),
        (names.label_value, ""),
        (names.label_value, "A_b.c-1"),
        (names.config_key, ".hidden"),
        (names.config_key, "a..b"),
        (names.env_var_name, "1 odd.name"),
        (names.port_name, "http-2"),
        (names.c_identifier, "_a1"),
        (names.http_header_name, "X-Header-Name"),
        (names.dns_subdomain_with_underscore, "_sctp._tcp"),
        (names.ip, "10.0.0.1"),
        (names.ip, "2001:DB8::1"),
    ],
)
def test_good_text_is_accepted(rule: Rule, text: str) -> None:
    assert not rule(text)


@pytest.mark.parametrize(
    ("rule", "text", "complaint"),
    [
        (names.dns_label, "", "a lowercase RFC 1123 label"),
        (names.dns_label, "a\n", "a lowercase RFC 1123 label"),
        (names.dns_label, "a.b", "must not contain dots"),
        (names.dns_label, "a" * 64, "must be no more than 63 characters"),
        (names.dns_subdomain, "a..b", "a lowercase RFC 1123 subdomain"),
        (names.dns_subdomain, "ü", "a lowercase RFC 1123 subdomain"),
        (names.dns_1035_label, "1a", "a DNS-1035 label"),
        (names.path_segment, "..", "may not be '..'"),
        (names.path_segment, "a/b", "may not contain '/'"),
        (names.qualified_name, "", "name part must be non-empty"),
        (names.qualified_name, "a/b/c", "a valid label key must consist"),
        (names.qualified_name, "/a", "prefix part must be non-empty"),
        (names.qualified_name, "a" * 64, "name part must be no more than 63 bytes"),
        (names.label_value, "-", "a valid label must be an empty string"),
        (names.config_key, "..", "must not be '..'"),
        (names.config_key, "..x", "must not start with '..'"),
        (names.config_key, "a/b", "a valid config key"),
        (names.env_var_name, "A=B", "a valid environment variable name"),
        (names.env_var_name, "", "environment variable name must be non-empty"),
        (names.port_name, "a--b", "must not contain consecutive hyphens"),
        (names.port_name, "123", "must contain at least one letter (a-z)"),
        (names.port_name, "-a", "must not begin or end with a hyphen"),
        (names.c_identifier, "1a", "a valid C identifier"),
        (names.http_header_name, "a b", "a valid HTTP header"),
        (names.ip, "1.2.3", "must be a valid IP address"),
        (names.ip, "010.0.0.1", "must not have leading 0s"),
        (names.ip, "::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"),
        (names.ip, "fe80::1%eth0", "must be a valid IP address"),
    ],
)
def test_bad_text_is_refused_with_a_reason(rule: Rule, text: str, complaint: str) -> None:
    assert rule(text)[0].startswith(complaint)


def test_a_complaint_names_examples_and_the_pattern() -> None:
    assert names.dns_label("A") == [
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
        "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
    ]


@pytest.mark.parametrize(("number", "good"), [(0, False), (1, True), (65535, True), (65536, False)])
def test_port_numbers_have_sixteen_bits(number: int, good: bool) -> None:
    assert bool(names.port_number(number)) is not good
