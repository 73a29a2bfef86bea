# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import msgspec
import pytest

from springtide.kube.resources import PODS, Key
from springtide.kube.watch import Decoder

POD = b'{"metadata": {"name": "a", "namespace": "default", "resourceVersion": "7"}, "spec": {"nodeName": "n"}}'


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    namespace: str
    resource_version: str


class _Complete(msgspec.Struct):
    metadata: _Metadata


class _Labels(msgspec.Struct):
    labels: dict[str, str] = {}


class _NoVersion(msgspec.Struct):
    metadata: _Labels


class _NoMetadata(msgspec.Struct):
    spec: dict[str, Any]


class _Mapping(msgspec.Struct):
    metadata: dict[str, Any]


@pytest.mark.parametrize("into", [dict, _Complete, _NoVersion, _NoMetadata, _Mapping])
def test_key_and_version_are_read_whatever_the_type_keeps(into: type[Any]) -> None:
    decoded = Decoder(into, PODS)(POD)
    assert decoded is not None
    assert (decoded.key, decoded.version) == (Key("default", "a"), "7")
