# SPDX-License-Identifier: Apache-2.0
"""Quotas counted, roles added up, old events forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.integration.controller_manager_basics.cluster_client import a_cluster

from springtide.kube import errors
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.request import DeleteOptions
from springtide.kube.resources import (
    CLUSTERROLES,
    CONFIGMAPS,
    CUSTOMRESOURCEDEFINITIONS,
    EVENTS,
    NAMESPACES,
    PODS,
    RESOURCEQUOTAS,
    SECRETS,
    Key,
    Obj,
    Resource,
)
from springtide.local.cluster import Options, running
from springtide.local.controller_manager.garbage_collection import event_expiry

WIDGETS = Resource("example.com", "v1", "widgets", "Widget")


def uses(**used: str) -> Callable[[Obj], bool]:
    return lambda quota: bool(quota["status"].get("used") == used)


def a_pod(cpu: str) -> Obj:
    resources = {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}
    return {"containers": [{"name": "c", "image": "i", "resources": resources}]}


async def test_a_new_quota_counts_what_is_there_and_what_goes(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        await world.until_object(CONFIGMAPS, "kube-root-ca.crt")
        await world.create(SECRETS, "one")
        hard = {"secrets": "2", "configmaps": "9", "count/secrets": "5"}
        await world.create(RESOURCEQUOTAS, "q", spec={"hard": hard})
        counted = uses(secrets="1", configmaps="1", **{"count/secrets": "1"})
        quota = await world.until_object(RESOURCEQUOTAS, "q", counted)
        assert quota["status"]["hard"] == hard
        await world.create(SECRETS, "two")
        with pytest.raises(errors.Forbidden, match="exceeded quota"):
            await world.create(SECRETS, "three")
        await world.delete(SECRETS, "one")
        await world.until_object(RESOURCEQUOTAS, "q", counted)
        await world.create(SECRETS, "three")


async def test_finished_pods_give_back_what_they_used(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        await world.create(RESOURCEQUOTAS, "q", spec={"hard": {"pods": "1", "requests.cpu": "2"}})
        await world.until_object(RESOURCEQUOTAS, "q", uses(pods="0", **{"requests.cpu": "0"}))
        await world.create(PODS, "first", spec=a_pod("1500m"))
        await world.until_object(RESOURCEQUOTAS, "q", uses(pods="1", **{"requests.cpu": "1500m"}))
        await world.patch(PODS, "first", {"status": {"phase": "Succeeded"}}, "status")
        await world.until_object(RESOURCEQUOTAS, "q", uses(pods="0", **{"requests.cpu": "0"}))
        await world.create(PODS, "second", spec=a_pod("1"))
        await world.client.delete(PODS, world.key(PODS, "second"), DeleteOptions(grace=0))
        await world.until_object(RESOURCEQUOTAS, "q", uses(pods="0", **{"requests.cpu": "0"}))


async def test_a_changed_quota_is_counted_again(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        await world.create(RESOURCEQUOTAS, "q", spec={"hard": {"secrets": "2"}})
        await world.until_object(RESOURCEQUOTAS, "q", uses(secrets="0"))
        await world.patch(RESOURCEQUOTAS, "q", {"spec": {"hard": {"secrets": None, "services": "3"}}})
        quota = await world.until_object(RESOURCEQUOTAS, "q", uses(services="0"))
        assert quota["status"]["hard"] == {"services": "3"}


async def test_a_custom_kind_is_counted_from_when_it_is_served(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        await world.create(RESOURCEQUOTAS, "q", spec={"hard": {"secrets": "9", "count/widgets.example.com": "1"}})
        await world.until_object(RESOURCEQUOTAS, "q", uses(secrets="0"))
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
        version = {"name": "v1", "served": True, "storage": True, "schema": schema}
        spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
        await world.create(CUSTOMRESOURCEDEFINITIONS, "widgets.example.com", spec=spec)
        none = {"secrets": "0", "count/widgets.example.com": "0"}
        await world.until_object(RESOURCEQUOTAS, "q", uses(**none))
        await world.create(WIDGETS, "w")
        await world.until_object(RESOURCEQUOTAS, "q", uses(**{**none, "count/widgets.example.com": "1"}))
        await world.delete(WIDGETS, "w")
        await world.until_object(RESOURCEQUOTAS, "q", uses(**none))


async def test_roles_are_added_up_through_several_levels(tmp_path: Path) -> None:
    rule = {"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get"]}

    def has_rule(role: Obj) -> bool:
        return rule in (role.get("rules") or [])

    async with a_cluster(tmp_path) as world:
        label = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
        await world.create(CLUSTERROLES, "widget-reader", label, rules=[rule])
        for name in ("view", "edit", "admin"):
            await world.until_object(CLUSTERROLES, name, has_rule)
        await world.delete(CLUSTERROLES, "widget-reader")
        for name in ("view", "edit", "admin"):
            await world.until_object(CLUSTERROLES, name, lambda role: not has_rule(role))


@pytest.mark.parametrize("ahead", [timedelta(minutes=59), timedelta(minutes=61)], ids=["before", "after"])
async def test_an_event_goes_after_its_hour_and_not_before(tmp_path: Path, ahead: timedelta) -> None:
    async with running(Options(tmp_path, port=0, controllers=False)) as cluster:
        client = cluster.client("tester")
        informers = Informers(client)
        recorder = EventRecorder(client, event_expiry.COMPONENT)
        expiry = event_expiry.controller(informers, client, recorder, lambda: datetime.now(UTC) + ahead)
        recorder.normal(NAMESPACES.describe(Key("", "x")), "R", "m")
        sending = asyncio.create_task(recorder.run())
        await recorder.flush()
        (event,) = (await client.list(EVENTS)).items
        expiry.enqueue(Key.of(event))
        expiry.stop()  # so that it ends when it has looked at this one
        following = asyncio.create_task(informers.run())
        await expiry.run()
        left = (await client.list(EVENTS)).items
        assert len(left) == (1 if ahead < timedelta(hours=1) else 0)
        for task in (sending, following):
            task.cancel()
        await asyncio.gather(sending, following, return_exceptions=True)
