# SPDX-License-Identifier: Apache-2.0
"""Users: name, uid, groups and extra, and the well-known names among them.

The rest of the package passes `User` around; only `authentication` and `impersonation` create one for a request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

ANONYMOUS: Final = "system:anonymous"
AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
MASTERS: Final = "system:masters"
NODES: Final = "system:nodes"
NODE_PREFIX: Final = "system:node:"
SERVICE_ACCOUNT_PREFIX: Final = "system:serviceaccount:"

CREDENTIAL_ID: Final = "authentication.kubernetes.io/credential-id"
POD_NAME: Final = "authentication.kubernetes.io/pod-name"
POD_UID: Final = "authentication.kubernetes.io/pod-uid"
NODE_NAME: Final = "authentication.kubernetes.io/node-name"
NODE_UID: Final = "authentication.kubernetes.io/node-uid"

Extra = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class User:
    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Extra = field(default_factory=dict, hash=False)

    def as_user_info(self) -> dict[str, Any]:
        """The `UserInfo` of reviews and admission requests; empty parts are omitted."""
        info: dict[str, Any] = {}
        if self.name:
            info["username"] = self.name
        if self.uid:
            info["uid"] = self.uid
        if self.groups:
            info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {key: list(values) for key, values in sorted(self.extra.items())}
        return info


ANONYMOUS_USER: Final = User(ANONYMOUS, groups=(UNAUTHENTICATED,))


def service_account_name(namespace: str, name: str) -> str:
    return f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}"


def service_account_groups(namespace: str) -> tuple[str, ...]:
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")


def split_service_account(username: str) -> tuple[str, str] | None:
    """(namespace, name) of a service account's username, or None for other users."""
    if not username.startswith(SERVICE_ACCOUNT_PREFIX):
        return None
    namespace, colon, name = username.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
    if not (namespace and colon and name) or ":" in name:
        return None
    return namespace, name


def node_of(user: User) -> str:
    """The node of a kubelet's user, or the empty string for other users."""
    if NODES not in user.groups or not user.name.startswith(NODE_PREFIX):
        return ""
    return user.name.removeprefix(NODE_PREFIX)
