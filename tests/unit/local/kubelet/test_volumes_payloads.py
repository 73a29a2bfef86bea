# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from springtide.local.kubelet.volumes import payloads
from springtide.local.kubelet.volumes.atomic import File
from springtide.local.kubelet.volumes.payloads import Contents, PayloadError

POD: dict[str, Any] = {
    "metadata": {"namespace": "team", "name": "p", "uid": "u", "labels": {"app": "x"}},
    "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}}]},
}


def contents(**given: Any) -> Contents:
    config_maps: dict[str, dict[str, str | bytes]] = {"c": {"a": "1", "b": "2", "bin": b"\xff"}}
    secrets: dict[str, dict[str, str | bytes]] = {"s": {"key": b"k"}}
    defaults: dict[str, Any] = {
        "pod": POD,
        "config_map": config_maps.get,
        "secret": secrets.get,
        "token": lambda source: f"token for {source.get('audience', 'the server')}",
        "allocatable": {"cpu": "8"},
    }
    return Contents(**defaults | given)


def test_every_key_becomes_a_file() -> None:
    assert payloads.of_volume({"configMap": {"name": "c", "defaultMode": 0o400}}, contents()) == {
        "a": File(b"1", 0o400),
        "b": File(b"2", 0o400),
        "bin": File(b"\xff", 0o400),
    }


def test_items_choose_keys_paths_and_modes() -> None:
    items = [{"key": "a", "path": "deep/a.txt"}, {"key": "b", "path": "run.sh", "mode": 0o755}]
    assert payloads.of_volume({"configMap": {"name": "c", "items": items}}, contents()) == {
        "deep/a.txt": File(b"1", 0o644),
        "run.sh": File(b"2", 0o755),
    }


@pytest.mark.parametrize(
    ("volume", "complaint"),
    [
        ({"configMap": {"name": "x"}}, 'configmap "x" not found'),
        ({"secret": {"secretName": "x"}}, 'secret "x" not found'),
        (
            {"configMap": {"name": "c", "items": [{"key": "z", "path": "z"}]}},
            "configmap references non-existent config key: z",
        ),
        (
            {"secret": {"secretName": "s", "items": [{"key": "z", "path": "z"}]}},
            "references non-existent secret key: z",
        ),
        (
            {"downwardAPI": {"items": [{"path": "x", "fieldRef": {"fieldPath": "spec.nodeName"}}]}},
            "unsupported fieldPath: spec.nodeName",
        ),
        (
            {"projected": {"sources": [{"configMap": {"name": "x"}}, {"secret": {"name": "y"}}]}},
            '[configmap "x" not found, secret "y" not found]',
        ),
        (
            {"projected": {"sources": [{"clusterTrustBundle": {"path": "ca"}}]}},
            "projected volumes of clusterTrustBundle are not known to this node",
        ),
    ],
)
def test_what_is_missing_is_said_as_kubelet_says_it(volume: dict[str, Any], complaint: str) -> None:
    with pytest.raises(PayloadError) as caught:
        payloads.of_volume(volume, contents())
    assert str(caught.value) == complaint


@pytest.mark.parametrize(
    "volume",
    [
        {"configMap": {"name": "x", "optional": True}},
        {"secret": {"secretName": "x", "optional": True}},
        {"secret": {"secretName": "s", "optional": True, "items": [{"key": "z", "path": "z"}]}},
        {"projected": {"sources": [{"secret": {"name": "x", "optional": True}}]}},
    ],
)
def test_what_is_optional_may_be_missing(volume: dict[str, Any]) -> None:
    assert payloads.of_volume(volume, contents()) == {}


def test_the_pods_own_fields_become_files() -> None:
    items = [
        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
        {"path": "cpu", "mode": 0o600, "resourceFieldRef": {"containerName": "c", "resource": "limits.cpu"}},
    ]
    assert payloads.of_volume({"downwardAPI": {"items": items}}, contents()) == {
        "labels": File(b'app="x"', 0o644),
        "cpu": File(b"2", 0o600),
    }


PROJECTED = {
    "projected": {
        "defaultMode": 0o644,
        "sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
            {"configMap": {"name": "c", "items": [{"key": "a", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
            {"secret": {"name": "s"}},
        ],
    }
}


def test_a_projected_volume_holds_all_its_sources() -> None:
    assert payloads.of_volume(PROJECTED, contents()) == {
        "token": File(b"token for the server", 0o644),
        "ca.crt": File(b"1", 0o644),
        "namespace": File(b"team", 0o644),
        "key": File(b"k", 0o644),
    }


def test_a_token_is_private_where_it_can_be_given_away() -> None:
    assert payloads.of_volume(PROJECTED, contents(shared=True))["token"].mode == 0o600
    assert payloads.of_volume(PROJECTED, contents(owner=7))["token"] == File(b"token for the server", 0o600, 7)


def test_keys_for_ssh_are_their_readers_alone() -> None:
    """ssh refuses a key that others may read, if it is the reader's own."""
    volume = {"secret": {"secretName": "s"}}
    keys = {"holds_keys": lambda source, name: name == "s"}
    assert payloads.of_volume(volume, contents(reader=7, **keys)) == {"key": File(b"k", 0o600, 7)}
    assert payloads.of_volume(volume, contents(reader=7)) == {"key": File(b"k", 0o644)}
    assert payloads.of_volume(volume, contents(**keys)) == {"key": File(b"k", 0o644)}
    assert payloads.of_volume(volume, contents(reader=7, shared=True, **keys)) == {"key": File(b"k", 0o644)}
    projected = {"projected": {"sources": [{"secret": {"name": "s"}}]}}
    assert payloads.of_volume(projected, contents(reader=7, **keys)) == {"key": File(b"k", 0o600, 7)}


def test_tokens_are_found_before_they_are_made() -> None:
    assert payloads.token_sources(PROJECTED) == [{"path": "token", "expirationSeconds": 3607}]
    assert payloads.token_sources({"configMap": {"name": "c"}}) == []
