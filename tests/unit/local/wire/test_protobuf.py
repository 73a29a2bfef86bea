# SPDX-License-Identifier: Apache-2.0
"""Recorded bytes of the real server and of kubectl against the JSON they stand for, then everything that is wrong.

`data/NAME.pb` and `data/NAME.json` are kube-apiserver's two answers for one object; `data/sent-*.pb` are bodies that
kubectl sent.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.local.status import StatusError
from springtide.local.wire.protobuf import decode

DATA = Path(__file__).with_name("data")
RECORDED = sorted(path.stem for path in DATA.glob("*.pb"))


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: int | str | bytes | float) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def body(api_version: str, kind: str, raw: bytes, extra: bytes = b"") -> bytes:
    return b"k8s\x00" + field(1, field(1, api_version) + field(2, kind)) + field(2, raw) + extra


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_bytes_decode_to_the_json_form(name: str) -> None:
    expected = json.loads((DATA / f"{name}.json").read_text())
    assert decode((DATA / f"{name}.pb").read_bytes()) == expected


def test_delete_options_are_read_under_any_group() -> None:
    preconditions = field(2, field(1, "a-uid"))
    raw = field(1, 0) + preconditions + field(4, "Foreground") + field(5, "All")
    assert decode(body("batch/v1", "DeleteOptions", raw)) == {
        "kind": "DeleteOptions",
        "apiVersion": "batch/v1",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "a-uid"},
        "propagationPolicy": "Foreground",
        "dryRun": ["All"],
    }


def test_an_eviction_carries_its_delete_options() -> None:
    raw = field(1, field(1, "p") + field(3, "ns")) + field(2, field(1, 30))
    decoded = decode(body("policy/v1", "Eviction", raw))
    assert decoded["metadata"] == {"name": "p", "namespace": "ns"}
    assert decoded["deleteOptions"] == {"gracePeriodSeconds": 30}


def test_a_map_of_lists_is_unwrapped() -> None:
    extra = field(1, "scopes") + field(2, field(1, "a") + field(1, "b"))
    raw = field(2, field(3, "jane") + field(5, extra))
    decoded = decode(body("authorization.k8s.io/v1", "SubjectAccessReview", raw))
    assert decoded["spec"] == {"user": "jane", "extra": {"scopes": ["a", "b"]}}


def security_context(raw: bytes) -> Any:
    pod = field(2, field(14, raw))
    return decode(body("v1", "Pod", pod))["spec"]["securityContext"]


def test_repeated_numbers_may_be_packed_or_not() -> None:
    assert security_context(field(4, 1) + field(4, 300)) == {"supplementalGroups": [1, 300]}
    assert security_context(field(4, varint(1) + varint(300))) == {"supplementalGroups": [1, 300]}


def test_negative_numbers_are_ten_byte_integers() -> None:
    assert decode(body("scheduling.k8s.io/v1", "PriorityClass", field(2, -10)))["value"] == -10


def test_a_message_sent_in_two_parts_is_merged() -> None:
    raw = field(1, field(1, "a")) + field(1, field(3, "ns"))
    assert decode(body("v1", "ConfigMap", raw))["metadata"] == {"name": "a", "namespace": "ns"}


def test_fields_of_a_newer_release_are_passed_over() -> None:
    raw = field(1, field(1, "a")) + field(4000, "new") + field(4001, 7) + field(4002, 1.5) + b"\x85\xfa\x01abcd"
    assert decode(body("v1", "ConfigMap", raw)) == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "a"},
    }


@pytest.mark.parametrize(
    ("nanoseconds", "shown"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1_500, "1.5µs"),
        (250_000_000, "250ms"),
        (1_500_000_000, "1.5s"),
        (60 * 10**9, "1m0s"),
        (3_600 * 10**9, "1h0m0s"),
        (-90 * 10**9, "-1m30s"),
    ],
)
def test_durations_are_shown_as_go_does(nanoseconds: int, shown: str) -> None:
    raw = field(3, field(1, nanoseconds))
    assert decode(body("metrics.k8s.io/v1beta1", "PodMetrics", raw))["window"] == shown


DEEP_SCHEMA = field(29, b"")
for _ in range(200):
    DEEP_SCHEMA = field(29, field(1, "p") + field(2, DEEP_SCHEMA))

CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
BAD = {
    "nothing": (b"", "does not begin with the prefix"),
    "JSON": (b'{"kind":"Pod"}', "does not begin with the prefix"),
    "only the magic": (b"k8s\x00", "'Kind' is missing"),
    "no kind": (body("v1", "", b""), "'Kind' is missing"),
    "no apiVersion": (body("", "Pod", b""), "'apiVersion' is missing"),
    "an unknown kind": (body("v1", "Spaceship", b""), 'no kind "Spaceship" is registered'),
    "an encoding": (body("v1", "Pod", b"", field(3, "gzip")), "content encoding 'gzip' is not supported"),
    "a cut body": (body("v1", "ConfigMap", field(1, field(1, "abc")))[:-2], "unexpected EOF"),
    "a cut message": (body("v1", "ConfigMap", field(1, field(1, "abc"))[:-1]), "unexpected EOF"),
    "a missing length": (body("v1", "ConfigMap", b"\x0a"), "unexpected EOF"),
    "an endless integer": (body("v1", "Pod", field(2, b"\x18" + b"\xff" * 11)), "integer overflow"),
    "a field number of 0": (body("v1", "Pod", b"\x02\x00"), "illegal tag"),
    "a group": (body("v1", "Pod", b"\x0b"), "illegal wire type 3"),
    "a string that is not UTF-8": (body("v1", "ConfigMap", field(1, field(1, b"\xff"))), "not valid UTF-8"),
    "a time beyond the calendar": (body("v1", "Pod", field(1, field(8, field(1, 1 << 60)))), "outside the years"),
    "an impossible IntOrString": (body("policy/v1", "PodDisruptionBudget", field(2, field(1, field(1, 5)))), "Type 5"),
    "broken JSON inside": (body("v1", "Pod", field(1, field(17, field(7, field(1, "{"))))), "holds JSON"),
    "endless nesting": (
        body(*CRD, field(2, field(7, field(1, "v1") + field(4, field(1, DEEP_SCHEMA))))),
        "exceeded max depth",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said_with_400(case: str) -> None:
    data, expected = BAD[case]
    with pytest.raises(StatusError) as refused:
        decode(data)
    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")
    assert expected in refused.value.message


def decodes_or_refuses(data: bytes) -> None:
    code = 200
    try:
        json.dumps(decode(data))
    except StatusError as refused:
        code = refused.code
    assert code in (200, 400)


@given(st.binary(max_size=200), st.sampled_from(["v1/Pod", "v1/ConfigMap", "v1/DeleteOptions", "/".join(CRD)]))
def test_any_bytes_are_an_object_or_a_400(raw: bytes, kind: str) -> None:
    api_version, _, name = kind.rpartition("/")
    decodes_or_refuses(body(api_version, name, raw))
    decodes_or_refuses(b"k8s\x00" + raw)


@given(st.sampled_from(RECORDED), st.data())
def test_a_damaged_message_is_an_object_or_a_400(name: str, data: st.DataObject) -> None:
    damaged = bytearray((DATA / f"{name}.pb").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(4, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    decodes_or_refuses(bytes(damaged))
