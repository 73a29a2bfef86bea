# SPDX-License-Identifier: Apache-2.0
"""The question an authorizer is asked, its answer, and how a refusal is worded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from springtide.local import status
from springtide.local.access.identity import User


class Attributes(NamedTuple):
    """What is asked for. A request for a path outside the resource API has `path` and none of the others."""

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
    """Raise the 403 kube-apiserver would answer with, unless the request is allowed."""
    decision = authorizer.authorize(user, wanted)
    if not decision.allowed:
        raise forbidden(user, wanted, decision.reason)


def forbidden(user: User, wanted: Attributes, reason: str = "") -> status.StatusError:
    why = refusal(user, wanted)
    return status.forbidden(wanted.group, wanted.resource, wanted.name, f"{why}: {reason}" if reason else why)


def refusal(user: User, wanted: Attributes) -> str:
    """The sentence kube-apiserver uses; it escapes what a browser could take for HTML, and so do we."""
    if wanted.path:
        text = f'User "{user.name}" cannot {wanted.verb} path "{wanted.path}"'
    else:
        where = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
        resource = f'resource "{wanted.full_resource}" in API group "{wanted.group}"'
        text = f'User "{user.name}" cannot {wanted.verb} {resource} {where}'
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
