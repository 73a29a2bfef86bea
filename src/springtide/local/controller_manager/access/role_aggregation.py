# SPDX-License-Identifier: Apache-2.0
"""Aggregated ClusterRoles: admin, edit and view include the rules of the roles that carry their label.

A change of any ClusterRole may affect any other, so all share one key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.resources import CLUSTERROLES, Key, Obj
from springtide.local.access.bootstrap import aggregate

COMPONENT = "clusterrole-aggregation-controller"
_ALL = Key("", "all")


class Aggregated(NamedTuple):
    name: str
    rules: list[Obj]


def plan(roles: Collection[Obj]) -> Iterator[Aggregated]:
    """The roles whose rules are out of date. For roles that aggregate each other, this is one step."""
    for role in roles:
        if not role.get("aggregationRule"):
            continue
        rules = aggregate(role, roles)
        if rules != (role.get("rules") or []):
            yield Aggregated(role["metadata"]["name"], rules)


def controller(informers: Informers, client: Client, _recorder: EventRecorder) -> Controller[Key]:
    async def reconcile(_: Key) -> Result | None:
        for name, rules in list(plan(roles.objects())):
            wanted = CLUSTERROLES.describe(Key("", name)) | {"rules": rules}
            await client.apply(CLUSTERROLES, wanted, field_manager=COMPONENT)
        return None

    found: Controller[Key] = Controller("role aggregation", reconcile)
    roles = informers.of(CLUSTERROLES)
    found.watches(roles, keys=lambda _: [_ALL])
    return found
