# SPDX-License-Identifier: Apache-2.0
"""A kind is asked for what it can do, and for nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.builders import a_toy, running
from tests.unit.jobs.simulated import Cluster
from tests.unit.jobs.toy import RESOURCE, TOY_KIND, ToyKind

from springtide.api.defaults.mpijob import defaulted
from springtide.api.job import Job
from springtide.api.kinds.resource import Made
from springtide.api.rights import rules
from springtide.jobs.kind import NOBODY, Hosts, Kind, Wanted
from springtide.jobs.kinds.mpi.adapter import MPI_KIND
from springtide.jobs.objects import named
from springtide.jobs.observed import Key, Settings
from springtide.jobs.parts import wiring


def kinds(wanted: tuple[Wanted, ...]) -> list[str]:
    return [each.manifest["kind"] for each in wanted]


def test_services_come_before_secrets_and_rights_last() -> None:
    over_ssh, over_exec = defaulted(an_mpijob("v2beta1")), defaulted(an_mpijob("v1"))
    assert kinds(wiring.wanted(MPI_KIND, over_ssh, NOBODY)) == ["Service", "Secret"]
    assert kinds(wiring.wanted(MPI_KIND, over_exec, NOBODY)) == ["ServiceAccount", "Role", "RoleBinding"]


def test_a_kind_without_hosts_has_no_files() -> None:
    job = a_toy().observe().job
    assert wiring.files(TOY_KIND, job, NOBODY, Settings()) == {}
    assert wiring.wanted(TOY_KIND, job, NOBODY) == ()


def test_a_kind_has_no_ability_that_it_does_not_name() -> None:
    assert [getattr(Kind, name) for name in Kind.__annotations__] == [None] * 6


AUTOSCALER = Made("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
KEY = Key("autoscaling/v2", "HorizontalPodAutoscaler", "toy")


class _Autoscaled:
    def objects(self, job: Job[Any], hosts: Hosts) -> tuple[Wanted, ...]:
        spec = {"minReplicas": 1, "maxReplicas": len(hosts.fixed)}
        manifest = {"apiVersion": KEY.api_version, "kind": KEY.kind, "metadata": named(job, KEY.name), "spec": spec}
        return (Wanted(manifest, kept=("spec",)),)


class AutoscaledToy(ToyKind):
    objects = _Autoscaled()


def autoscaled() -> Cluster:
    cluster = a_toy()
    cluster.kind = AutoscaledToy()
    return running(cluster)


def test_an_object_of_any_type_is_created_put_right_and_deleted_with_the_jobs_run() -> None:
    cluster = autoscaled()
    assert cluster.objects[KEY]["spec"] == {"minReplicas": 1, "maxReplicas": 3}
    cluster.objects[KEY]["spec"]["maxReplicas"] = 7
    cluster.settle()
    assert cluster.objects[KEY]["spec"]["maxReplicas"] == 3
    cluster.policy(suspend=True)
    cluster.settle()
    assert KEY not in cluster.objects
    cluster.policy(suspend=False)
    cluster.settle()
    assert KEY in cluster.objects
    cluster.succeed()
    cluster.settle()
    assert cluster.finished
    assert KEY not in cluster.objects


def test_the_operator_may_keep_objects_of_types_that_a_kind_makes() -> None:
    toy = replace(RESOURCE, makes=(AUTOSCALER,))
    found = [rule for rule in rules((toy,)) if rule["apiGroups"] == ["autoscaling"]]
    assert [(rule["resources"], "create" in rule["verbs"]) for rule in found] == [([AUTOSCALER.plural], True)]
    assert rules((RESOURCE,)) == [rule for rule in rules((toy,)) if rule["apiGroups"] != ["autoscaling"]]
