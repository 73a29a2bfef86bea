# SPDX-License-Identifier: Apache-2.0
"""Manifests of the same job again, and of copies."""

from __future__ import annotations

import json
from typing import Any

from springtide.manifests.copies import LAST_APPLIED, clean, renamed, unsuspended


def job(**metadata: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"release": "bert", "master-pod-name": "bert-launcher", "app": "bertha"}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "MPIJob",
        "metadata": {"name": "bert", "namespace": "team", **metadata},
        "spec": {"runPolicy": {"suspend": True}, "mpiReplicaSpecs": {"Worker": {"template": template}}},
        "status": {"state": "Running"},
    }


def test_a_clean_manifest_has_nothing_that_the_server_or_the_operator_wrote() -> None:
    found = clean(
        job(
            uid="1",
            resourceVersion="2",
            creationTimestamp="now",
            finalizers=["x"],
            ownerReferences=[{}],
            managedFields=[{}],
            labels={"a": "b"},
            annotations={"job-supervisor.kube-ai.io/job-status": "timeout"},
        )
    )
    assert found["metadata"] == {"name": "bert", "namespace": "team", "labels": {"a": "b"}}
    assert "status" not in found


def test_what_is_cleaned_is_not_changed() -> None:
    live = job(annotations={"job-supervisor.kube-ai.io/job-status": "timeout"})
    clean(live)
    assert live["metadata"]["annotations"]


def test_an_unsuspended_job_starts_at_once() -> None:
    annotations = {"job-supervisor.kube-ai.io/job-suspended": "true", "scheduling.x-k8s.io/suspend": "true", "k": "v"}
    found = unsuspended(job(annotations=annotations))
    assert found["spec"]["runPolicy"] == {}
    assert found["metadata"]["annotations"] == {"k": "v"}


def test_labels_follow_a_new_name_where_they_followed_the_old_one() -> None:
    found = renamed(job(labels={"release": "bert", "team": "bertrand"}), "large")
    assert found["metadata"]["name"] == "large"
    assert found["metadata"]["labels"] == {"release": "large", "team": "bertrand"}
    labels = found["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["metadata"]["labels"]
    assert labels == {"release": "large", "master-pod-name": "large-launcher", "app": "bertha"}


def test_the_annotation_that_arena_reads_bounds_from_describes_the_copy() -> None:
    found = renamed(job(annotations={LAST_APPLIED: "{}"}), "large")
    described = json.loads(found["metadata"]["annotations"][LAST_APPLIED])
    assert described["metadata"] == {"name": "large", "namespace": "team", "annotations": {}}
    assert described["spec"] == found["spec"]
