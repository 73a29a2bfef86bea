# SPDX-License-Identifier: Apache-2.0
"""The tests that every kind gets: a class that names a `Submit` is all it takes.

class TestToy(KindSuite):
    submit = staticmethod(a_toy)

class AnyOrder(any_order.AnyOrder): ...      beside it, for whatever happens in any order
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, ClassVar, Protocol

import pytest
from tests.unit.jobs.builders import running
from tests.unit.jobs.simulated import Cluster

from springtide.api.kinds.replicas import WORKER
from springtide.api.names import label_complaints
from springtide.jobs.actions import Create, Delete
from springtide.jobs.kind import ONE_SIZE
from springtide.jobs.objects import INDEX, JOB, KIND, ROLE, owner
from springtide.jobs.observed import Settings


class Submit(Protocol):
    """A job with so many workers and this run policy, of which nothing has been done yet."""

    def __call__(self, workers: int = 2, **run_policy: Any) -> Cluster: ...


def complete(cluster: Cluster) -> bool:
    """All workers that are wanted are ready, and the job says so."""
    wanted = cluster.snapshot.wanted_size
    ready = [pod for pod in cluster.of(WORKER) if pod.ready and pod.alive]
    return len(ready) == wanted and cluster.status.workers == f"{wanted}/{wanted}"


def told(cluster: Cluster) -> dict[str, str]:
    """The conditions that users of every kind know."""
    return {type_: held for type_, held in cluster.conditions.items() if not cluster.kind.is_quiet(type_)}


def keeps_its_size(cluster: Cluster) -> bool:
    """Whether the replicas know each other by number, and do not cope with another one."""
    seen = cluster.snapshot
    return seen.shape.keeps_names and not seen.sizes.elastic


class KindSuite:
    submit: ClassVar[Callable[..., Cluster]]

    def test_a_job_is_created_runs_and_succeeds(self) -> None:
        cluster = self.submit()
        cluster.settle()
        assert told(cluster) == {"Created": "True", "Running": "True"}
        assert complete(cluster)
        cluster.succeed()
        cluster.settle()
        assert told(cluster) == {"Created": "True", "Running": "False", "Succeeded": "True"}
        assert cluster.status.completion_time is not None
        kind = cluster.raw["kind"]
        reasons = [event.reason for event in cluster.events if event.reason.startswith(kind)]
        assert reasons == [f"{kind}Created", f"{kind}Running", f"{kind}Succeeded"]

    def test_a_job_that_may_not_be_tried_again_fails(self) -> None:
        cluster = running(self.submit(backoffLimit=0))
        for pod in cluster.of(cluster.decides):
            cluster.fail(pod.name)
        cluster.settle()
        assert cluster.conditions.get("Failed") == "True"
        assert "Succeeded" not in cluster.conditions

    def test_a_job_is_tried_again_until_its_limit_is_reached(self) -> None:
        cluster = running(self.submit(backoffLimit=1))
        for expected in (False, True):
            cluster.fail(next(pod.name for pod in cluster.of(cluster.decides) if pod.alive), code=137)
            cluster.settle(300)
            assert cluster.finished == expected
        assert cluster.conditions.get("Failed") == "True"

    def test_nothing_is_written_when_nothing_changes(self) -> None:
        assert running(self.submit()).plan().actions == ()

    def test_all_objects_belong_to_the_job(self) -> None:
        cluster = self.submit()
        cluster.settings = Settings(gang_scheduler="volcano")
        job = cluster.observe().job
        made = [each.manifest for each in cluster.plan().actions if isinstance(each, Create)]
        assert made
        for manifest in made:
            metadata = manifest["metadata"]
            assert metadata["ownerReferences"] == [owner(job)], manifest["kind"]
            assert metadata["namespace"] == job.metadata.namespace
            assert (metadata["labels"][JOB], metadata["labels"][KIND]) == (job.metadata.name, job.kind)
            assert not label_complaints(metadata["name"])

    def test_pods_are_found_again_by_role_index_and_name(self) -> None:
        cluster = running(self.submit())
        seen = cluster.snapshot
        for name, pod in cluster.pods.items():
            if pod.role == seen.shape.launcher:
                continue
            labels = cluster.manifests[name]["metadata"]["labels"]
            assert labels[INDEX] == str(pod.index)
            assert name == seen.kind.pod_name(seen.job, labels[ROLE], int(labels[INDEX]))
            if pod.role == WORKER:
                assert seen.kind.selector(seen.job).items() <= labels.items()

    def test_a_launchers_role_and_name_are_known_by_the_jobs(self) -> None:
        seen = self.submit().snapshot
        assert seen.shape.launcher_name == seen.kind.launcher_name(seen.job.metadata.name)
        assert seen.shape.launcher == seen.kind.launcher_role()

    def test_planning_changes_no_template(self) -> None:
        cluster = self.submit()
        before = repr(cluster.raw)
        cluster.settle()
        assert repr(cluster.raw) == before

    @pytest.mark.parametrize("until", range(12))
    def test_the_operator_may_be_killed_after_any_action(self, until: int) -> None:
        cluster = self.submit()
        cluster.reconcile(until)
        cluster.settle()
        assert complete(cluster)
        cluster.succeed()
        cluster.reconcile(until)
        cluster.settle()
        assert cluster.conditions.get("Succeeded") == "True"

    def test_a_job_is_resized_and_back(self) -> None:
        cluster = running(self.submit(2))
        for size in (4, 2, 3):
            cluster.resize(size)
            cluster.settle()
            seen = cluster.snapshot
            wanted = seen.sizes.bounds.nearest(size) if seen.sizes.bounds else size
            if keeps_its_size(cluster):
                wanted = 2
                assert cluster.conditions.get("SizeDeferred", "False") == str(size != wanted)
            assert complete(cluster)
            assert cluster.status.workers.endswith(f"/{wanted}")
            assert cluster.conditions["Running"] == "True"

    def test_a_worker_that_was_deleted_is_replaced(self) -> None:
        cluster = running(self.submit())
        cluster.terminate(cluster.of(WORKER)[0].name)
        cluster.settle()
        assert complete(cluster)
        assert not cluster.finished

    def test_a_lost_node_is_made_good(self) -> None:
        cluster = running(self.submit())
        cluster.lose(cluster.of(WORKER)[0].node)
        cluster.settle(700)
        assert complete(cluster)
        assert not cluster.finished

    def test_suspending_ends_all_pods_and_resuming_starts_over(self) -> None:
        cluster = running(self.submit())
        cluster.policy(suspend=True)
        cluster.settle()
        assert not [pod for pod in cluster.pods.values() if pod.alive]
        assert (cluster.conditions["Suspended"], cluster.status.state) == ("True", "Suspended")
        cluster.policy(suspend=False)
        cluster.settle()
        assert (cluster.conditions["Suspended"], cluster.conditions["Running"]) == ("False", "True")
        assert complete(cluster)

    def test_a_job_that_is_submitted_suspended_has_no_pods(self) -> None:
        cluster = self.submit(suspend=True)
        cluster.settle()
        assert not cluster.pods
        assert cluster.status.start_time is None

    @pytest.mark.parametrize("policy", ["None", "Running", "All"])
    def test_what_is_left_of_a_job(self, policy: str) -> None:
        cluster = running(self.submit(cleanPodPolicy=policy))
        cluster.succeed()
        cluster.settle()
        others = {pod.role for pod in cluster.pods.values()} - {cluster.decides}
        assert any(pod.alive for pod in cluster.pods.values()) == (policy == "None" and bool(others))
        assert bool(cluster.pods) == (policy != "All" or cluster.snapshot.shape.keeps_launcher)

    def test_a_finished_job_is_deleted_when_its_time_has_come(self) -> None:
        cluster = running(self.submit(ttlSecondsAfterFinished=100))
        cluster.succeed()
        cluster.reconcile()
        assert not cluster.deleted
        cluster.now += timedelta(seconds=100)
        assert [each.key.kind for each in cluster.plan().actions if isinstance(each, Delete)] == [cluster.raw["kind"]]

    def test_a_deadline_ends_a_job(self) -> None:
        cluster = running(self.submit(activeDeadlineSeconds=3600))
        if cluster.snapshot.form.in_batch_job:
            return  # the batch Job keeps it
        cluster.now += timedelta(seconds=3600)
        cluster.settle()
        assert cluster.status.conditions[-1].reason == "DeadlineExceeded"
        assert not [pod for pod in cluster.pods.values() if pod.alive]

    def test_all_pods_are_placed_together(self) -> None:
        cluster = self.submit()
        cluster.settings = Settings(gang_scheduler="volcano")
        cluster.settle()
        groups = [body for key, body in cluster.objects.items() if key.kind == "PodGroup"]
        assert [group["spec"]["minMember"] for group in groups] == [len(cluster.pods)]

    def test_a_job_above_the_operators_limit_is_not_started(self) -> None:
        cluster = self.submit(2)
        cluster.settings = Settings(max_workers=1)
        cluster.settle()
        assert not cluster.of(WORKER)
        assert cluster.conditions["TooManyWorkers"] == "True"

    def test_a_job_without_an_ability_is_asked_for_none(self) -> None:
        seen = self.submit().snapshot
        assert (seen.sizes is ONE_SIZE) == (seen.kind.resizable is None)
        assert bool(seen.shape.launcher) == (seen.kind.launching is not None)
