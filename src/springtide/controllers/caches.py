# SPDX-License-Identifier: Apache-2.0
"""The operator's caches: jobs, nodes, and by their labels all objects that were made for jobs.

Other objects are never fetched, so a cluster with ten thousand other pods and secrets costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from springtide.api.kinds.resource import Resource as Definition
from springtide.controllers.job_keys import JobKey, job_of
from springtide.controllers.leaving import NodeFacts, facts, is_evicted
from springtide.controllers.scalers.cache import Scalers
from springtide.controllers.views import BatchJobView, HeldView, JobView, NodeView, PodView, PriorityView
from springtide.jobs.objects import JOB, KIND
from springtide.jobs.observed import WarningEvent
from springtide.jobs.parts import gangs
from springtide.jobs.reporting import progress
from springtide.kube.cache import Replaced
from springtide.kube.informer import Informer, Informers
from springtide.kube.request import Scope
from springtide.kube.resources import (
    CONFIGMAPS,
    JOBS,
    NODES,
    PODS,
    PRIORITYCLASSES,
    ROLEBINDINGS,
    ROLES,
    SECRETS,
    SERVICEACCOUNTS,
    SERVICES,
    Resource,
)

BY_JOB: Final = "job"
BY_NODE: Final = "node"
_LONGEST_REPORT: Final = 10_000
"""Characters; users with write access to a launcher's pod must not exhaust the operator's memory."""
NO_SCALERS: Final[Mapping[str, Iterable[Definition]]] = {}
HELD: Final = (CONFIGMAPS, SECRETS, SERVICES, SERVICEACCOUNTS, ROLES, ROLEBINDINGS)


def by_job(view: PodView | BatchJobView | HeldView) -> list[JobKey]:
    key = job_of(view.metadata)
    return [key] if key else []


def _by_node(pod: PodView) -> list[str]:
    return [pod.spec.node_name] if pod.spec.node_name else []


def _last_lines(pod: PodView) -> str:
    ended = (each.state.terminated for each in pod.status.container_statuses)
    return "\n".join(each.message for each in ended if each is not None)


class Caches:
    def __init__(
        self,
        informers: Informers,
        namespace: str,
        gang_scheduler: str,
        makes: Iterable[Resource] = (),
        kinds: Sequence[str] = (),
        scalers: Mapping[str, Iterable[Definition]] = NO_SCALERS,
    ) -> None:
        """`makes` are types of objects that only some kinds use. With `kinds`, objects of jobs of other kinds are not
        cached. `scalers` are the kinds of scalers by the kind of their jobs."""
        ours = Scope(namespace, labels=f"{JOB},{KIND} in ({','.join(kinds)})" if kinds else JOB)
        self.namespace = namespace
        self.pods: Informer[PodView] = informers.of(PODS, ours, into=PodView)
        self.batch_jobs: Informer[BatchJobView] = informers.of(JOBS, ours, into=BatchJobView)
        self.nodes: Informer[NodeView] = informers.of(NODES, into=NodeView)
        self._priorities: Informer[PriorityView] | None = (
            informers.of(PRIORITYCLASSES, into=PriorityView) if gang_scheduler else None
        )
        """Needed for gang scheduling only, and requires an additional right."""
        self.held: dict[Resource, Informer[HeldView]] = {
            resource: informers.of(resource, ours, into=HeldView)
            for resource in (*HELD, *groups_of(gang_scheduler), *makes)
        }
        self.scalers = Scalers(informers, namespace, scalers)
        self._informers = informers
        self.made: tuple[Informer[Any], ...] = (self.pods, self.batch_jobs, *self.held.values())
        """The caches of all types of objects that are made for jobs."""
        self._by_name = {(known.resource.api_version, known.resource.kind): known for known in self.made}
        for informer in self.made:
            informer.add_index(BY_JOB, by_job)
        self.pods.add_index(BY_NODE, _by_node)
        self._facts: NodeFacts | None = None
        """Facts about the current nodes; computed on demand, and again after a node has changed."""
        self.nodes.on_replace(self._nodes_changed)
        self._last_reports: dict[JobKey, tuple[str, str]] = {}
        self.troubles: dict[JobKey, dict[str, WarningEvent]] = {}
        """Warning events about an object of a job that makes no progress, by its uid; see `inquiring`."""
        self.pods.on_replace(self._keep_report)

    def _keep_report(self, change: Replaced[PodView]) -> None:
        """Keeps the last report of a launcher whose pod is deleted."""
        pod, new = change.old, change.new
        if pod is None or (new is not None and new.metadata.uid == pod.metadata.uid):
            return
        key, report = job_of(pod.metadata), progress.last(pod.metadata.annotations, _last_lines(pod))
        if key is not None and report and len(report) <= _LONGEST_REPORT:
            self._last_reports[key] = pod.metadata.uid, report

    def last_reports(self, key: JobKey) -> dict[str, str]:
        """The last report of a deleted pod of this job, by uid."""
        return dict([found]) if (found := self._last_reports.get(key)) else {}

    def forget(self, key: JobKey) -> None:
        """The job is gone."""
        self._last_reports.pop(key, None)
        self.troubles.pop(key, None)

    def jobs(self, resource: Resource) -> Informer[JobView]:
        return self._informers.of(resource, Scope(self.namespace), into=JobView)

    def named(self, api_version: str, kind: str) -> Informer[Any]:
        """The cache of objects of this kind; KeyError for a type that is not made for jobs."""
        return self._by_name[api_version, kind]

    def node_facts(self) -> NodeFacts:
        """Facts about nodes; cordoned nodes with evicted pods count as leaving."""
        if self._facts is None:
            self._facts = facts(self.nodes.objects())
        known = self._facts
        drained = frozenset(node for node in known.cordoned - known.leaving if self._is_drained(node))
        return replace(known, leaving=known.leaving | drained) if drained else known

    def _is_drained(self, node: str) -> bool:
        return any(is_evicted(pod) for pod in self.pods.where(BY_NODE, node))

    def _nodes_changed(self, _: Replaced[NodeView]) -> None:
        self._facts = None

    def priorities(self) -> dict[str, int]:
        found = self._priorities.objects() if self._priorities is not None else ()
        return {each.metadata.name: each.value for each in found}

    def jobs_on(self, node: str) -> frozenset[JobKey]:
        return frozenset(key for pod in self.pods.where(BY_NODE, node) for key in by_job(pod))


def made_by(definitions: Iterable[Definition]) -> tuple[Resource, ...]:
    """Types of objects that these kinds use beside the common ones."""
    made = (Resource(each.group, each.version, each.plural, each.kind) for kind in definitions for each in kind.makes)
    return tuple(dict.fromkeys(made))


def groups_of(scheduler: str) -> tuple[Resource, ...]:
    """PodGroups of the configured scheduler."""
    found = gangs.of(scheduler, "")
    if found is None:
        return ()
    group, _, version = found.api_version.partition("/")
    return (Resource(group, version, "podgroups", "PodGroup"),)
