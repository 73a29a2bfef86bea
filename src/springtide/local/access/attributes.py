# SPDX-License-Identifier: Apache-2.0
"""Authorisation requests, decisions, and the messages of rejections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from springtide.local import status
from springtide.local.access.identity import User


class Attributes(NamedTuple):
    """Attributes of a request. A request for a path outside the resource API has only `verb` and `path`."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    namespace: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class Decision:
    allowed: bool
    reason: str = ""


class Authorizer(Protocol):
    def authorize(self, user: User, wanted: Attributes) -> Decision: ...


def require(authorizer: Authorizer, user: User, wanted: Attributes) -> None:
    """Raise kube-apiserver's 403, unless the request is allowed."""
    decision = authorizer.authorize(user, wanted)
    if not decision.allowed:
        raise forbidden(user, wanted, decision.reason)


def forbidden(user: User, wanted: Attributes, reason: str = "") -> status.StatusError:
    why = refusal(user, wanted)
    return status.forbidden(wanted.group, wanted.resource, wanted.name, f"{why}: {reason}" if reason else why)


def refusal(user: User, wanted: Attributes) -> str:
    """kube-apiserver's message, with characters escaped that a browser could interpret as HTML, as there."""
    if wanted.path:
        text = f'User "{user.name}" cannot {wanted.verb} path "{wanted.path}"'
    else:
        where = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
        resource = f'resource "{wanted.full_resource}" in API group "{wanted.group}"'
        text = f'User "{user.name}" cannot {wanted.verb} {resource} {where}'
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
