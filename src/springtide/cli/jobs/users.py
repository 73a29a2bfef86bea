# SPDX-License-Identifier: Apache-2.0
"""Who uses the cluster, under the name that Arena writes on a job's objects, and whose jobs a user sees.

In a namespace with the label arena.kubeflow.org/isolate-user=true, Arena shows and deletes only a user's own jobs. The
names in the ConfigMap arena-config of Arena's namespace are administrators. Only the command line looks at this: it is
order among colleagues, and no protection.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.config import Connection
from springtide.kube.resources import CONFIGMAPS, NAMESPACES, Key, Obj, Resource

USER_ID: Final = "arena.kubeflow.org/uid"
ARENA_NAMESPACE: Final = "arena-system"
"""The namespace of Arena's settings, unless its user says otherwise."""
_ISOLATED: Final = "arena.kubeflow.org/isolate-user"
_CERTIFICATE: Final = "kubecfg:certauth:admin"
_PASSWORD: Final = "kubecfg:basicauth:"
_SELF_REVIEWS: Final = Resource(
    "authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False
)


class User(NamedTuple):
    name: str
    id: str


@dataclass(frozen=True, slots=True)
class Isolation:
    """Whether a namespace shows users only what is theirs."""

    user: User
    isolated: bool
    administrator: bool

    def shows(self, obj: Mapping[str, Any]) -> bool:
        labels = obj["metadata"].get("labels") or {}
        return not self.isolated or self.administrator or labels.get(USER_ID) == self.user.id


def named(name: str) -> User:
    return User(name=name, id=hashlib.md5(name.encode(), usedforsecurity=False).hexdigest())


async def user_of(client: Client, connection: Connection) -> User:
    """The user of this connection. With a certificate all users have one name, as in Arena."""
    kind, _, credentials = (await connection.credentials()).get("Authorization", "").partition(" ")
    if kind == "Basic":
        return named(_PASSWORD + _name_in(credentials))
    if kind != "Bearer":
        return named(_CERTIFICATE)
    return named(str((await identity(client))["username"]))


async def identity(client: Client) -> Obj:
    """The user's name and groups, as the server sees them."""
    review = await client.create(_SELF_REVIEWS, {"apiVersion": _SELF_REVIEWS.api_version, "kind": _SELF_REVIEWS.kind})
    try:
        found: Obj = review["status"]["userInfo"]
        str(found["username"])
    except (KeyError, TypeError):
        raise errors.Malformed("the server does not say who you are") from None
    return found


async def isolation_of(client: Client, connection: Connection, namespace: str, arena_namespace: str) -> Isolation:
    user = await user_of(client, connection)
    labels = (await _readable(client, NAMESPACES, Key("", namespace))).get("metadata", {}).get("labels") or {}
    if labels.get(_ISOLATED) != "true":
        return Isolation(user, isolated=False, administrator=False)
    return Isolation(user, isolated=True, administrator=await is_administrator(client, user, arena_namespace))


async def is_administrator(client: Client, user: User, arena_namespace: str) -> bool:
    settings = await _readable(client, CONFIGMAPS, Key(arena_namespace, "arena-config"))
    names = ((settings.get("data") or {}).get("adminUsers") or "").split(",")
    return user.name in {name.strip(" ") for name in names} - {""}


async def _readable(client: Client, resource: Resource, key: Key) -> Obj:
    """An object that may be missing, and that a user may have no right to read."""
    try:
        return await client.get(resource, key)
    except (errors.NotFound, errors.Forbidden):
        return {}


def _name_in(credentials: str) -> str:
    try:
        return base64.b64decode(credentials).decode().partition(":")[0]
    except (binascii.Error, UnicodeDecodeError):
        return ""
