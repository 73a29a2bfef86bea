# SPDX-License-Identifier: Apache-2.0
"""Everything that was ever true in a namespace, as the API server told it, and what must have held at each moment."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests import named_replicas
from tests.crash_jobs import mix, scaler_verdict
from tests.crash_jobs.history import JOB, Seen
from tests.crash_jobs.jobs import LAUNCHED, Wanted
from tests.crash_jobs.training_jobs import SCALERS
from tests.integration.controllers.background import meanwhile

from springtide.kube.client import Client
from springtide.kube.request import Scope
from springtide.kube.resources import CONFIGMAPS, PODS, ROLES, Obj, Resource
from springtide.kube.watch import Change, Decoder, watch


class Chronicle:
    def __init__(self) -> None:
        self.changes: list[tuple[int, Resource, Change[Obj]]] = []

    def verify(self, *, one_run: bool = True) -> None:
        """Versions count all writes to a server, so they tell the order of changes to different resources, too. A job
        that was suspended is as good as new: with its next run names start over."""
        in_order = self._in_order()
        by_job: dict[str, list[tuple[Resource, Change[Obj]]]] = {}
        for resource, change in in_order:
            by_job.setdefault(change.object["metadata"].get("labels", {}).get(JOB, ""), []).append((resource, change))
        for of_job in by_job.values():
            _nobody_is_listed_out_of_reach(of_job)
            _nobody_is_named_before_it_is_there(of_job)
            if one_run:
                _no_host_comes_back(of_job)
            _never_two_launchers([change for resource, change in of_job if resource is PODS])
        courses: dict[str, list[Obj]] = {}
        for resource, change in in_order:
            if resource in mix.KINDS:
                courses.setdefault(change.object["metadata"]["uid"], []).append(change.object)
        for course in courses.values():
            _legal_course(course)
            _replicas_are_right(course[0], in_order)

    def verify_scalers(self, wanted: Wanted) -> None:
        """Those of a job took their turns, each from its beginning to one end."""
        seen = [
            Seen(version, resource.kind, change.object, change.type == "DELETED")
            for version, resource, change in sorted(self.changes, key=lambda each: each[0])
        ]
        faults = scaler_verdict.judge(wanted, [each for each in seen if each.job == wanted.name])
        assert not faults, faults

    def _in_order(self) -> list[tuple[Resource, Change[Obj]]]:
        return [(resource, change) for _, resource, change in sorted(self.changes, key=lambda each: each[0])]

    def workers(self) -> list[str]:
        """All there ever were."""
        names = {change.key.name for _, resource, change in self.changes if resource is PODS}
        return sorted(name for name in names if "-worker-" in name)


def _nobody_is_listed_out_of_reach(in_order: list[tuple[Resource, Change[Obj]]]) -> None:
    """Of a job whose launcher has no Role anybody is in reach."""
    reachable: set[str] | None = None
    for resource, change in in_order:
        if resource is ROLES and change.type != "DELETED":
            reachable = _reachable(change.object)
        elif resource is CONFIGMAPS and change.type != "DELETED":
            listed = _listed(change.object)
            assert reachable is None or listed <= reachable, f"{listed - reachable} listed, but out of reach"


def _nobody_is_named_before_it_is_there(in_order: list[tuple[Resource, Change[Obj]]]) -> None:
    """A name is in the Role and in the host list only after its pod was there."""
    there: set[str] = set()
    for resource, change in in_order:
        if resource is PODS and change.type != "DELETED":
            there.add(change.key.name)
        elif resource is ROLES:
            rights = set() if change.type == "DELETED" else _reachable(change.object)
            assert rights <= there, f"{rights - there} may be reached: whose pods are they?"
        elif resource is CONFIGMAPS:
            listed = set() if change.type == "DELETED" else _listed(change.object)
            assert listed <= there, f"{listed - there} is listed: whose pods are they?"


def _no_host_comes_back(in_order: list[tuple[Resource, Change[Obj]]]) -> None:
    """A name that was listed is never given again: Horovod shuns a host that died for ever."""
    listed: set[str] = set()
    for resource, change in in_order:
        if resource is CONFIGMAPS:
            listed |= _listed(change.object)
        elif resource is PODS and change.type == "ADDED":
            assert change.key.name not in listed, f"{change.key.name} was a host before"


def _never_two_launchers(pods: list[Change[Obj]]) -> None:
    alive: set[str] = set()
    for change in pods:
        if "-launcher" in change.key.name:
            alive = _living(alive, change)
            assert len(alive) <= 1, f"two launchers live: {alive}"


def _legal_course(jobs: list[Obj]) -> None:
    """What has ended stays ended, and nothing runs that has ended."""
    ended = ""
    for each in jobs:
        status = each.get("status") or {}
        true = {condition["type"] for condition in status.get("conditions", ()) if condition["status"] == "True"}
        ends = true & {"Succeeded", "Failed"}
        assert len(ends) <= 1, status
        assert not ends or "Running" not in true, status
        assert ("completionTime" in status) == bool(ends), status
        assert (status.get("state") in ("Succeeded", "Failed")) == bool(ends), status
        assert not ended or ends == {ended}, f"had {ended}, but then: {status}"
        ended = next(iter(ends), "")


def _replicas_are_right(job: Obj, in_order: list[tuple[Resource, Change[Obj]]]) -> None:
    """Those that keep their names, if the job has such ones."""
    if job["kind"] in LAUNCHED:
        return
    annotations = job["metadata"].get("annotations", {})
    course = named_replicas.Course(annotations.get("springtide.dev/restart") == named_replicas.WHOLE_JOB)
    for resource, change in in_order:
        if not any(
            owner["uid"] == job["metadata"]["uid"] for owner in change.object["metadata"].get("ownerReferences", ())
        ):
            continue
        if resource is CONFIGMAPS:
            course.ledger(change.object, change.type == "DELETED")
        elif resource is PODS:
            faults = list(course.pod(change.object, change.type == "DELETED"))
            assert not faults, faults


def _living(before: set[str], change: Change[Obj]) -> set[str]:
    uid = change.object["metadata"]["uid"]
    ended = change.object["status"].get("phase") in ("Succeeded", "Failed")
    return before - {uid} if ended or change.type == "DELETED" else before | {uid}


def _reachable(role: Obj) -> set[str]:
    rules = (rule for rule in role["rules"] if rule["resources"] == ["pods/exec"])
    return {name for rule in rules for name in rule["resourceNames"]}


def _listed(config: Obj) -> set[str]:
    script = config.get("data", {}).get("discover_hosts.sh", "")
    return set(re.findall(r"^echo ([^:.\n]+-worker-\d+)", script, re.MULTILINE))


@asynccontextmanager
async def kept(client: Client, namespace: str) -> AsyncIterator[Chronicle]:
    """Written while inside."""
    chronicle = Chronicle()

    async def follow(resource: Resource) -> None:
        scope, decoder = Scope(namespace), Decoder[Obj](dict, resource)
        listing = await client.list(resource, scope)
        async for event in watch(client, resource, scope, decoder, version=listing.version):
            if isinstance(event, Change):
                chronicle.changes.append((int(event.version), resource, event))

    async with meanwhile(*(follow(resource) for resource in (PODS, CONFIGMAPS, ROLES, *mix.KINDS, *SCALERS))):
        yield chronicle
