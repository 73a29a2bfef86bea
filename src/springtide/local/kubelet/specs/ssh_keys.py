# SPDX-License-Identifier: Apache-2.0
"""Which volumes hold the SSH keys by which the pods of a job log in to each other.

kubernetes.io/ssh-auth    volumes of secrets of this type
id_rsa, id_rsa.pub        volumes of other secrets with these keys that are mounted as id_rsa and authorized_keys,
                          as et-operator mounts them: with id_rsa alone a pod logs in elsewhere
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any, Final

PRIVATE_KEY: Final = "ssh-privatekey"
"""The key that every secret of Kubernetes' type has."""
KEY_FILE: Final = "id_rsa"
_TYPE: Final = "kubernetes.io/ssh-auth"
_PAIR: Final = (KEY_FILE, "id_rsa.pub")
_AUTHORIZED: Final = "authorized_keys"


def private_key(type_: str, keys: Collection[str]) -> str:
    """The name of the private key in a secret of this type and with these keys; empty if it has none."""
    if type_ == _TYPE:
        return PRIVATE_KEY
    return KEY_FILE if all(name in keys for name in _PAIR) else ""


def is_login(source: Mapping[str, Any], private: str) -> bool:
    """Whether a volume of a secret with this private key is one by which pods log in to each other."""
    items = source.get("items") or ()
    authorizes = any(os.path.basename(item["path"]) == _AUTHORIZED for item in items)
    return private == PRIVATE_KEY or (private == KEY_FILE and authorizes)


def path(source: Mapping[str, Any], private: str, folder: str = ".") -> str:
    """The path of the private key in a folder of the volume; empty if the volume is not one by which pods log in to
    each other."""
    items = {item["path"]: item["key"] for item in source.get("items") or ()}
    inner = {os.path.relpath(place, folder): key for place, key in items.items()}
    found = next((place for place, key in inner.items() if key == private), "")
    if private == PRIVATE_KEY and folder == ".":
        return found or PRIVATE_KEY
    return found if private == KEY_FILE and _AUTHORIZED in inner else ""
