# SPDX-License-Identifier: Apache-2.0
"""Quantities read, written and summed as kube-apiserver does; the tables are its answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.api import quantity
from springtide.api.quantity import NANO, Form, Quantity, QuantityError

FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX = "unable to parse quantity's suffix"


@pytest.mark.parametrize(
    ("given_text", "answered"),
    [
        ("1", "1"),
        ("0", "0"),
        ("00", "0"),
        ("1000m", "1"),
        ("0.5", "500m"),
        ("0.500", "500m"),
        ("1.500", "1.500"),
        ("1.5", "1500m"),
        ("+5", "+5"),
        ("05", "05"),
        ("1024Mi", "1Gi"),
        ("1Mi", "1Mi"),
        ("100Mi", "100Mi"),
        ("2048Ki", "2Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("0.0005Ki", "512m"),
        ("0.0001Mi", "104857600u"),
        ("1e3", "1e3"),
        ("1E3", "1E3"),
        ("1E", "1E"),
        ("1E+3", "1E+3"),
        ("1e-3", "1e-3"),
        ("12e2", "1200"),
        ("100", "100"),
        ("1000", "1k"),
        ("2000000", "2M"),
        ("1000k", "1M"),
        ("1500k", "1500k"),
        ("128974848", "128974848"),
        ("0.1n", "1n"),
        ("1n", "1n"),
        ("0.0000000001", "1n"),
        ("1.0000000001", "1000000001n"),
        ("1023Ki", "1023Ki"),
        ("0.1Ki", "102400m"),
        ("1.1Ki", "1126400m"),
        ("8Gi", "8Gi"),
        ("9Ei", "9223372036854775807"),
        ("8Ei", "9223372036854775807"),
        ("16Ei", "9223372036854775807"),
        ("1Ki", "1Ki"),
        (".", "0"),
        ("1.", "1."),
        ("1.G", "1.G"),
        (".5", "500m"),
        ("5.123456", "5.123456"),
        ("999999999999999999", "999999999999999999"),
        ("9999999999999999999", "9999999999999999999"),
        ("1u", "1u"),
        ("1234u", "1234u"),
        ("1000u", "1m"),
        ("1000n", "1u"),
        ("1e4", "10e3"),
        ("10e3", "10e3"),
        ("1000Ki", "1000Ki"),
        ("1024", "1024"),
        ("3072Mi", "3Gi"),
        ("4Gi", "4Gi"),
        ("4096Mi", "4Gi"),
        ("7", "7"),
        ("8", "8"),
        ("80", "80"),
        ("800", "800"),
        ("1e18", "1e18"),
        ("0Ki", "0"),
        ("0.0", "0"),
        ("0e5", "0"),
        ("-0", "0"),
        ("100000000000000000Ki", "9223372036854775807"),
    ],
)
def test_a_quantity_comes_back_as_kube_apiserver_gives_it(given_text: str, answered: str) -> None:
    assert quantity.canonical(given_text) == answered


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1e", SUFFIX),
        ("1kI", FORMAT),
        ("1K", SUFFIX),
        ("abc", FORMAT),
        ("", FORMAT),
        ("1i", SUFFIX),
        ("1Mii", SUFFIX),
        ("--1", SUFFIX),
        ("1-1", SUFFIX),
        ("1e3k", FORMAT),
        ("1.2.3", FORMAT),
        ("1_000", FORMAT),
    ],
)
def test_what_is_no_quantity_is_refused_in_its_words(text: str, message: str) -> None:
    with pytest.raises(QuantityError) as refused:
        quantity.canonical(text)
    assert str(refused.value) == message


def test_a_negative_quantity_keeps_its_sign() -> None:
    assert quantity.canonical("-1500m") == "-1500m"
    assert quantity.canonical("-2000m") == "-2"


def test_amounts_compare_whatever_their_form() -> None:
    assert quantity.parse("1Gi") == quantity.parse("1024Mi")
    assert quantity.parse("1k") < quantity.parse("1Ki")
    assert quantity.parse("100m") <= quantity.parse("0.1")
    assert len({quantity.parse("1"), quantity.parse("1000m")}) == 1


def test_a_sum_is_written_as_its_first_part_was() -> None:
    assert str(quantity.parse("512Mi") + quantity.parse("512Mi")) == "1Gi"
    assert str(quantity.parse("500m") + quantity.parse("1500m")) == "2"
    assert str(quantity.ZERO + quantity.parse("2Gi")) == "2Gi"
    assert str(quantity.parse("2Gi") - quantity.parse("2Gi")) == "0"


@pytest.mark.parametrize(
    ("text", "units", "milli"), [("1500m", 2, 1500), ("-1500m", -2, -1500), ("1n", 1, 1), ("3", 3, 3000), ("0", 0, 0)]
)
def test_whole_units_and_thousandths_round_away_from_zero(text: str, units: int, milli: int) -> None:
    assert (quantity.parse(text).value, quantity.parse(text).milli) == (units, milli)


@given(st.integers(-(10**24), 10**24), st.sampled_from(Form))
def test_the_canonical_form_reads_back_as_the_same_amount(nanos: int, form: Form) -> None:
    if form is Form.BINARY:
        nanos = max(min(nanos, 2**63 * NANO // 2), -(2**63) * NANO // 2)
    assert quantity.parse(str(Quantity(nanos, form))) == Quantity(nanos)


def test_a_whole_number_of_units_can_be_made_directly() -> None:
    assert quantity.of(3) == quantity.parse("3")
    assert not quantity.of(0)
    assert str(-quantity.of(2)) == "-2"


@pytest.mark.parametrize("text", ["9" * 300_000, "0" * 300_000 + "x", "1." + "5" * 300_000, "1e" + "9" * 300_000])
def test_a_quantity_of_too_many_characters_is_none(text: str) -> None:
    for read in (quantity.parse, quantity.canonical):
        with pytest.raises(QuantityError, match="at most 1024 characters"):
            read(text)
