# SPDX-License-Identifier: Apache-2.0
"""A key pair for all pods of a job."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.jobs.builders import a_toy

from springtide.jobs.actions import Secrets
from springtide.jobs.parts import ssh

ROOT, OTHER = "/root/.ssh", "/home/user/.ssh"


def test_the_secret_is_created_without_keys_and_gets_them_from_whoever_writes_it() -> None:
    wanted = ssh.secret(a_toy().observe().job, "toy-ssh", {"app": "toy"})
    assert (wanted.secrets, "data" in wanted.manifest) == (Secrets.SSH_KEYS, False)
    complete = ssh.with_keys(wanted.manifest, b"pem", b"line")
    assert set(complete["data"]) == set(wanted.keys)


@pytest.mark.parametrize(
    ("path", "pod", "mode"),
    [
        (ROOT, {}, 0o600),
        (ROOT, {"runAsUser": 0}, 0o600),
        (ROOT, {"runAsUser": 1000}, None),
        (OTHER, {"fsGroup": 1000}, 0o440),
        (OTHER, {}, None),
    ],
)
def test_keys_can_be_read_by_whoever_uses_them_and_roots_by_root_alone(
    path: str, pod: dict[str, Any], mode: int | None
) -> None:
    spec = {"containers": [{}], "securityContext": pod}
    volume, mount = ssh.volume("keys", "toy-ssh", path, spec)
    assert volume["secret"].get("defaultMode") == mode
    assert (volume["secret"]["secretName"], mount) == ("toy-ssh", {"name": "keys", "mountPath": path})


@pytest.mark.parametrize(
    ("pod", "container", "root"),
    [
        ({}, {}, True),
        ({"runAsUser": 0}, {}, True),
        ({"runAsUser": 1000}, {"runAsUser": 0}, True),
        ({"runAsUser": 1000}, {}, False),
        ({}, {"runAsUser": 1000}, False),
        ({"runAsNonRoot": True}, {}, False),
        ({"runAsNonRoot": True}, {"runAsNonRoot": False}, True),
    ],
)
def test_a_container_may_run_as_root_unless_it_says_otherwise(
    pod: dict[str, Any], container: dict[str, Any], root: bool
) -> None:
    assert ssh.is_root({"securityContext": pod}, {"securityContext": container}) == root


def test_a_secret_of_files_may_be_another_ones() -> None:
    wanted = ssh.secret_of_files(a_toy().observe().job, "toy", {"app": "toy"})
    assert wanted.shared
    assert set(ssh.with_keys(wanted.manifest, b"pem", b"line")["data"]) == set(wanted.keys)
