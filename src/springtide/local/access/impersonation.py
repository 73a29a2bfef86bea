# SPDX-License-Identifier: Apache-2.0
"""Impersonation: the Impersonate-* headers, and whether the caller may use them.

Kubernetes 1.36 checks in two ways. First constrained: may the caller impersonate *for this verb*
(`impersonate-on:user-info:list` on the resource itself), and may he impersonate this user (`impersonate:user-info` on
users in authentication.k8s.io)? If not, as since 1.3: the verb `impersonate` on users, groups, serviceaccounts, uids
and userextras. A rejection is reported with the message of the first check.

The mode `associated-node` is not implemented: pods do not act for their nodes here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final
from urllib.parse import unquote

from springtide.local import status
from springtide.local.access.attributes import Attributes, Authorizer, forbidden, require
from springtide.local.access.identity import (
    ANONYMOUS,
    AUTHENTICATED,
    MASTERS,
    NODE_PREFIX,
    NODES,
    UNAUTHENTICATED,
    User,
    service_account_groups,
    split_service_account,
)

_AUTHENTICATION_GROUP: Final = "authentication.k8s.io"
_PREFIX: Final = "impersonate-"
_EXTRA_PREFIX: Final = "impersonate-extra-"


def impersonate(user: User, headers: Iterable[tuple[str, str]], wanted: Attributes, authorizer: Authorizer) -> User:
    """The user to act as: the caller, or the user named by Impersonate headers, if the caller may impersonate him."""
    target = requested_user([(name, value) for name, value in headers if name.lower().startswith(_PREFIX)])
    if target is None:
        return user
    refused: status.StatusError | None = None
    for mode in _modes(target):
        try:
            return _become(user, target, mode, wanted, authorizer)
        except status.StatusError as error:
            refused = refused or error
    raise refused or status.internal("all impersonation modes failed")


def requested_user(headers: Iterable[tuple[str, str]]) -> User | None:
    """The user described by the headers, unchecked; None without any."""
    name = uid = ""
    groups: list[str] = []
    extra: dict[str, tuple[str, ...]] = {}
    for header, value in headers:
        key = header.lower()
        if key == "impersonate-user":
            name = name or value
        elif key == "impersonate-uid":
            uid = uid or value
        elif key == "impersonate-group":
            groups.append(value)
        elif key.startswith(_EXTRA_PREFIX):
            extra_key = unquote(key.removeprefix(_EXTRA_PREFIX))
            extra[extra_key] = (*extra.get(extra_key, ()), value)
    target = User(name, uid, tuple(groups), extra)
    if not name and (uid or groups or extra):
        raise status.bad_request(f"requested {_as_go(target)} without impersonating a user name")
    return target if name else None


def _modes(target: User) -> Iterator[str]:
    """Constrained modes that apply to the target, then the unconstrained one (the empty string)."""
    only_name = not (target.uid or target.groups or target.extra)
    if target.name.startswith(NODE_PREFIX):
        if only_name:
            yield "arbitrary-node"
    elif split_service_account(target.name):
        if only_name:
            yield "serviceaccount"
    else:
        yield "user-info"
    yield ""


def _become(user: User, target: User, mode: str, wanted: Attributes, authorizer: Authorizer) -> User:
    if mode:
        require(authorizer, user, wanted._replace(verb=f"impersonate-on:{mode}:{wanted.verb}"))
        if MASTERS in target.groups:
            asked = Attributes(f"impersonate:{mode}", _AUTHENTICATION_GROUP, "groups", name=MASTERS)
            raise forbidden(user, asked, "impersonating the system:masters group is not allowed")
    for asked in _questions(target, mode):
        require(authorizer, user, asked)
    return _completed(target, mode)


def _questions(target: User, mode: str) -> Iterator[Attributes]:
    """Permissions that the caller needs to impersonate the target."""
    verb, group = (f"impersonate:{mode}", _AUTHENTICATION_GROUP) if mode else ("impersonate", "")
    account = split_service_account(target.name)
    if account:
        yield Attributes(verb, group, "serviceaccounts", name=account[1], namespace=account[0])
    elif mode == "arbitrary-node":
        yield Attributes(verb, group, "nodes", name=target.name.removeprefix(NODE_PREFIX))
    else:
        yield Attributes(verb, group, "users", name=target.name)
    if target.uid:
        yield Attributes(verb, _AUTHENTICATION_GROUP, "uids", name=target.uid)
    for name in target.groups:
        yield Attributes(verb, group, "groups", name=name)
    for key, values in target.extra.items():
        for value in values:
            yield Attributes(verb, _AUTHENTICATION_GROUP, "userextras", key, value)


def _completed(target: User, mode: str) -> User:
    """The target with its implied groups."""
    groups = target.groups
    account = split_service_account(target.name)
    if account and not groups:
        groups = service_account_groups(account[0])
    elif mode == "arbitrary-node":
        groups = (NODES,)
    if target.name == ANONYMOUS:
        implied = UNAUTHENTICATED
    elif UNAUTHENTICATED in groups:
        return replace(target, groups=groups)
    else:
        implied = AUTHENTICATED
    return replace(target, groups=groups if implied in groups else (*groups, implied))


def _as_go(user: User) -> str:
    """kube-apiserver's text for invalid headers."""
    groups = f"[]string{_braced(user.groups)}" if user.groups else "[]string(nil)"
    extra = ", ".join(f'"{key}":[]string{_braced(values)}' for key, values in sorted(user.extra.items()))
    shown_extra = f"map[string][]string{{{extra}}}" if extra else "map[string][]string(nil)"
    return f'&user.DefaultInfo{{Name:"{user.name}", UID:"{user.uid}", Groups:{groups}, Extra:{shown_extra}}}'


def _braced(words: Iterable[str]) -> str:
    return "{" + ", ".join(f'"{word}"' for word in words) + "}"
