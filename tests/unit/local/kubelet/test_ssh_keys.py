# SPDX-License-Identifier: Apache-2.0
"""Which volumes hold keys by which pods log in to each other."""

from __future__ import annotations

from typing import Any

import pytest

from springtide.local.kubelet.specs import ssh_keys

OWN = [
    {"key": "id_rsa", "path": ".ssh/id_rsa"},
    {"key": "id_rsa.pub", "path": ".ssh/authorized_keys"},
]
FLAT = [{"key": each["key"], "path": each["path"].removeprefix(".ssh/")} for each in OWN]


@pytest.mark.parametrize(
    ("type_", "keys", "private"),
    [
        ("kubernetes.io/ssh-auth", {"ssh-privatekey"}, "ssh-privatekey"),
        ("Opaque", {"id_rsa", "id_rsa.pub", "config"}, "id_rsa"),
        ("Opaque", {"id_rsa"}, ""),
        ("Opaque", {"ssh-privatekey"}, ""),
    ],
)
def test_the_private_key_of_a_secret(type_: str, keys: set[str], private: str) -> None:
    assert ssh_keys.private_key(type_, keys) == private


@pytest.mark.parametrize(
    ("items", "private", "folder", "path"),
    [
        ([], "ssh-privatekey", ".", "ssh-privatekey"),
        ([{"key": "ssh-privatekey", "path": "id"}], "ssh-privatekey", ".", "id"),
        ([], "ssh-privatekey", "id", ""),
        (OWN, "id_rsa", ".ssh", "id_rsa"),
        (FLAT, "id_rsa", ".", "id_rsa"),
        (OWN, "id_rsa", ".", ""),
        (OWN[:1], "id_rsa", ".ssh", ""),
        ([], "id_rsa", ".", ""),
        (OWN, "", ".ssh", ""),
    ],
)
def test_the_path_of_the_private_key(items: list[dict[str, Any]], private: str, folder: str, path: str) -> None:
    assert ssh_keys.path({"items": items}, private, folder) == path


@pytest.mark.parametrize(
    ("items", "private", "login"),
    [([], "ssh-privatekey", True), (OWN, "id_rsa", True), (OWN[:1], "id_rsa", False), (OWN, "", False)],
)
def test_only_keys_that_authorize_somebody_are_for_logging_in(
    items: list[dict[str, Any]], private: str, login: bool
) -> None:
    assert ssh_keys.is_login({"items": items}, private) == login
