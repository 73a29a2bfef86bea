# SPDX-License-Identifier: Apache-2.0
"""Pods of a Job that counts them no more are looked up once, not at each of its changes."""

from __future__ import annotations

import pytest
from tests.unit.kube.fake_api import FakeApi

from springtide.kube.client import Client
from springtide.kube.informer import Informer, Informers
from springtide.kube.resources import JOBS, Key, Obj
from springtide.local.controller_manager import views
from springtide.local.controller_manager.batch.job_orphans import OrphanedPods, PodsOf
from springtide.local.controller_manager.batch.job_pods import TRACKING
from springtide.local.controller_manager.views import Metadata, OwnerView, PodView

KEY = Key("default", "j")
PODS = 1000


def a_job(revision: int, *, finished: bool = False, uid: str = "u", managed_by: str = "") -> Obj:
    conditions = [{"type": "Complete", "status": "True"}] if finished else []
    spec = {"managedBy": managed_by} if managed_by else {}
    metadata = {"name": "j", "namespace": "default", "uid": uid, "resourceVersion": str(revision)}
    return {"metadata": metadata, "spec": spec, "status": {"conditions": conditions}}


class World:
    def __init__(self) -> None:
        informers = Informers(Client(FakeApi()))
        self.jobs: Informer[Obj] = informers.of(JOBS)
        self.orphaned = OrphanedPods(informers, informers.client)
        pods = views.pods(informers)
        owner = OwnerView("batch/v1", "Job", "j", "u", controller=True)
        for number in range(PODS):
            finalizers = (TRACKING,) if number % 2 else ()
            metadata = Metadata(f"p{number}", "default", f"{number}", owner_references=(owner,), finalizers=finalizers)
            pods.put(Key("default", f"p{number}"), "1", PodView(metadata))

    def write(self, job: Obj) -> None:
        self.jobs._notify(self.jobs.put(KEY, job["metadata"]["resourceVersion"], job))

    @property
    def queued(self) -> int:
        return len(self.orphaned.controller.queue)


@pytest.fixture
async def world() -> World:
    return World()


async def test_changes_of_a_running_job_concern_none_of_its_pods(world: World) -> None:
    for revision in range(100):
        world.write(a_job(revision))
    assert world.queued == 0


async def test_the_pods_of_a_finished_job_are_looked_up_once(world: World) -> None:
    world.write(a_job(1))
    for revision in range(2, 100):
        world.write(a_job(revision, finished=True))
    assert world.queued == 1
    await world.orphaned.reconcile(PodsOf("u"))
    assert world.queued == 1 + PODS // 2


async def test_those_of_a_job_that_was_finished_at_the_start_are_looked_up(world: World) -> None:
    world.write(a_job(1, finished=True))
    assert world.queued == 1


async def test_those_of_a_job_that_is_gone_are_looked_up(world: World) -> None:
    world.write(a_job(1))
    change = world.jobs.remove(KEY)
    assert change is not None
    world.jobs._notify(change)
    assert world.queued == 1


async def test_those_of_a_job_that_another_one_replaced_are_looked_up(world: World) -> None:
    world.write(a_job(1))
    world.write(a_job(2, uid="other"))
    assert world.queued == 1


async def test_those_of_a_job_that_is_managed_elsewhere_are_not(world: World) -> None:
    world.write(a_job(1, managed_by="example.com/else"))
    world.write(a_job(2, managed_by="example.com/else", finished=True))
    assert world.queued == 0
