# SPDX-License-Identifier: Apache-2.0
"""The three forms of a launcher answer the same questions."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.builders import a_toy, running
from tests.unit.jobs.simulated import Cluster

from springtide.jobs import snapshot
from springtide.jobs.actions import Action, Delete, Patch
from springtide.jobs.launchers.batch_job import BATCH_JOB
from springtide.jobs.launchers.form import NO_LAUNCHER, LauncherForm
from springtide.jobs.launchers.pod import POD
from springtide.jobs.observed import Key

FORMS: dict[str, tuple[LauncherForm, Cluster]] = {
    "a pod": (POD, running(Cluster(an_mpijob("v1")))),
    "a batch Job": (BATCH_JOB, running(Cluster(an_mpijob("v2beta1")))),
    "none": (NO_LAUNCHER, running(a_toy())),
}


def of(cluster: Cluster) -> snapshot.Snapshot:
    return snapshot.read(cluster.observe(), cluster.kind, cluster.now)


@pytest.mark.parametrize(("form", "cluster"), FORMS.values(), ids=FORMS)
def test_a_job_has_the_form_that_its_kind_says(form: LauncherForm, cluster: Cluster) -> None:
    assert of(cluster).form is form


@pytest.mark.parametrize(("form", "cluster"), FORMS.values(), ids=FORMS)
def test_a_launcher_that_runs_has_neither_succeeded_nor_failed(form: LauncherForm, cluster: Cluster) -> None:
    seen = of(cluster)
    answers: tuple[Any, ...] = (form.completed(seen), form.failure(seen), form.failed(seen))
    assert answers == (None, None, None)
    assert not form.replaced(seen)
    assert not form.switched(seen)


@pytest.mark.parametrize(
    ("name", "exists", "removed"),
    [("a pod", True, ("Pod",)), ("a batch Job", True, ("Job",)), ("none", False, ())],
)
def test_what_exists_is_what_is_removed(name: str, exists: bool, removed: tuple[str, ...]) -> None:
    form, cluster = FORMS[name]
    seen = of(cluster)
    assert (form.exists(seen), form.goes_on(seen)) == (exists, exists)
    assert tuple(each.key.kind for each in form.removed(seen) if isinstance(each, Delete)) == removed
    assert form.counts(seen).active == int(exists)


def test_workers_are_stopped_after_a_launcher_that_is_a_pod() -> None:
    form, cluster = FORMS["a pod"]
    other: Action = Delete(Key("v1", "Pod", "other"), "uid")
    first, last = form.stopped(of(cluster), (other,))
    assert isinstance(first, Delete)
    assert (first.key.name, last) == ("pi-launcher", other)


def test_a_batch_job_is_moved_by_suspending_it_and_a_pod_by_deleting_it() -> None:
    pod, _ = FORMS["a pod"]
    batch, cluster = FORMS["a batch Job"]
    seen = of(cluster)
    assert seen.launcher is not None
    assert (pod.relocated(seen.launcher), batch.relocated(seen.launcher)) == ((seen.launcher,), ())
    assert pod.relocation(seen) == ()
    assert batch.relocation(seen) == (Patch(Key("batch/v1", "Job", "pi-launcher"), {"spec": {"suspend": True}}),)


def test_a_kind_without_a_launcher_stops_its_other_pods_alone() -> None:
    form, cluster = FORMS["none"]
    other: Action = Delete(Key("v1", "Pod", "other"), "uid")
    assert form.stopped(of(cluster), (other,)) == (other,)
    assert form.pod(cluster.observe(), "", "") is None
    assert not form.relocated(cluster.pods["toy-worker-0"])
    assert not form.relocation(of(cluster))
