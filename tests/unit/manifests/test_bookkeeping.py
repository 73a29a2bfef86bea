# SPDX-License-Identifier: Apache-2.0
"""The ConfigMap beside a job is as Arena keeps it, without keys."""

from __future__ import annotations

from base64 import b64decode

import pytest
import yaml
from tests import arena

from springtide.manifests import bookkeeping
from springtide.manifests.last_applied import ANNOTATION, with_last_applied
from springtide.manifests.parts.objects import Obj
from springtide.manifests.rendering import kept_beside, render
from springtide.manifests.submissions.submission import EtJob, SshKeys, User

ASKED = EtJob(
    name=arena.NAME,
    namespace="default",
    command="horovodrun -np $((${workers}*${gpus})) --min-np $((${minWorkers}*${gpus})) "
    "--max-np $((${maxWorkers}*${gpus})) --host-discovery-script /etc/edl/discover_hosts.sh "
    "python /examples/elastic/tensorflow2_mnist_elastic.py",
    user=User(name="kubecfg:certauth:admin", id="3399d840e8b371ed7ca45dda29debeb1"),
    image=arena.IMAGE,
    gpus=1,
    workers=3,
    min_workers=1,
    max_workers=9,
    working_directory="/examples",
    ssh_keys=SshKeys(private=b"a private key", public=b"a public key"),
)
NOT_KEPT = {"secretData", "podSecurityContext", "isNonRoot", "mode", "podGroupName", "podGroupMinAvailable"}
"""Keys, which belong in the Secret only, and what Arena never reads from there."""


@pytest.fixture(scope="module")
def kept() -> Obj:
    return kept_beside(ASKED, render(ASKED))


def test_it_names_the_objects_of_the_documents_job(kept: Obj) -> None:
    theirs = arena.bookkeeping()
    assert kept["metadata"] == theirs["metadata"] | {"namespace": "default"}
    assert kept["data"]["app"] == theirs["data"]["app"]
    assert kept["data"].keys() == theirs["data"].keys()
    assert kept["data"]["etjob"] == theirs["data"]["etjob"]


def test_its_values_are_those_of_the_documents_job(kept: Obj) -> None:
    ours, theirs = (yaml.safe_load(each["data"]["values"]) for each in (kept, arena.bookkeeping()))
    differing = {name for name in theirs if ours.get(name) != theirs[name]}
    assert differing == NOT_KEPT | {"trainingLogdir", "hostLogPath", "isLocalLogging", "envs"}
    assert theirs["envs"].items() >= ours["envs"].items()


def test_keys_are_in_the_secret_alone(kept: Obj) -> None:
    secret, job = render(ASKED)
    encoded = secret["data"]["id_rsa"]
    assert b64decode(encoded) == b"a private key"
    assert "a private key" not in f"{kept}{job}{ASKED}"
    assert encoded not in f"{kept}{job}{ASKED}"


def test_in_isolated_namespaces_it_names_its_user() -> None:
    labels = kept_beside(ASKED, render(ASKED), isolated=True)["metadata"]["labels"]
    assert labels == {"createdBy": "arena", "arena.kubeflow.org/uid": ASKED.user.id}


def test_the_job_becomes_the_owner() -> None:
    job = render(ASKED)[-1]
    created = {**job, "metadata": {**job["metadata"], "uid": "1"}}
    assert bookkeeping.owner_reference(created) == {
        "apiVersion": "kai.alibabacloud.com/v1alpha1",
        "kind": "TrainingJob",
        "name": arena.NAME,
        "uid": "1",
        "controller": True,
        "blockOwnerDeletion": True,
    }


def test_secrets_have_no_annotation_of_kubectl() -> None:
    secret, job = render(ASKED)
    assert with_last_applied(secret) == secret
    assert ANNOTATION in with_last_applied(job)["metadata"]["annotations"]


def test_the_annotation_of_kubectl_does_not_contain_itself() -> None:
    job = render(ASKED)[-1]
    assert with_last_applied(with_last_applied(job)) == with_last_applied(job)
