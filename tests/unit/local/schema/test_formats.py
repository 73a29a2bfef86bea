# SPDX-License-Identifier: Apache-2.0
"""String formats of CRD schemas."""

from __future__ import annotations

import pytest

from springtide.local.schema.formats import FORMATS, format_check


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date-time", "2020-01-01T00:00:00Z", "2020-01-01"),
        ("date", "2020-02-29", "2021-02-29"),
        ("duration", "1h30m", "soon"),
        ("duration", "22 ns", "h"),
        ("email", "a@b.c", "a"),
        ("hostname", "a-b.example", "a_b"),
        ("ipv4", "10.0.0.1", "::1"),
        ("ipv6", "::1", "10.0.0.1"),
        ("cidr", "10.0.0.0/8", "10.0.0.0"),
        ("mac", "00:1b:44:11:3a:b7", "00:1b"),
        ("uri", "http://a/b", "a b"),
        ("uri", "/a", "a"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123"),
        ("uuid4", "123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
        ("byte", "aGk=", "!"),
        ("isbn", "0321751043", "0321751044"),
        ("isbn13", "978-0321751041", "978-0321751042"),
        ("creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"),
        ("ssn", "111-22-3333", "1"),
        ("hexcolor", "#fff", "#ff"),
        ("rgbcolor", "rgb(1, 2, 255)", "rgb(1,2,256)"),
        ("bsonobjectid", "507f1f77bcf86cd799439011", "x"),
        ("k8s-short-name", "a-b", "A"),
        ("k8s-long-name", "a.b-c", "a..b"),
    ],
)
def test_a_format_tells_good_from_bad(name: str, good: str, bad: str) -> None:
    check = format_check(name)
    assert check is not None
    assert check(good)
    assert not check(bad)


def test_a_password_is_any_text_and_an_unknown_format_no_check() -> None:
    assert FORMATS["password"]("")
    assert format_check("colour-of-the-sky") is None
