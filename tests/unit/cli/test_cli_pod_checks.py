# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from springtide.cli import pod_checks
from springtide.cli.pod_checks import POD_CHECKS
from springtide.cli.wrong import Wrong
from springtide.local.datadir import DataDir
from springtide.local.kubelet import gpus
from springtide.local.kubelet.gpus import Gpu
from springtide.local.runtime import isolation
from springtide.local.runtime.isolation import Finding, Findings

Patch = pytest.MonkeyPatch


@pytest.mark.parametrize("check", POD_CHECKS, ids=lambda check: check.__name__)
def test_what_pods_lack_can_be_lived_with_and_fixed(check: Callable[[DataDir], str], tmp_path: Path) -> None:
    wrong = None
    try:
        assert check(DataDir(tmp_path / "cluster"))
    except Wrong as error:
        wrong = error
    assert wrong is None or (wrong.fix and not wrong.needed)
    assert list(tmp_path.iterdir()) == []


def with_programs(patch: Patch, folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    patch.setenv("PATH", str(folder))


@pytest.mark.parametrize(
    ("programs", "user", "tun", "found"),
    [
        (["pasta", "slirp4netns"], 1000, True, "by pasta"),
        (["slirp4netns"], 1000, True, "by slirp4netns"),
        (["slirp4netns"], 1000, False, "/dev/net/tun cannot be opened"),
        ([], 1000, True, "pods cannot reach other machines"),
        (["nft"], 0, False, "address translation (nft)"),
        (["nft"], 1000, False, "pods cannot reach other machines"),
    ],
)
def test_a_way_to_the_outside_is_looked_for(
    programs: list[str], user: int, tun: bool, found: str, monkeypatch: Patch, tmp_path: Path
) -> None:
    with_programs(monkeypatch, tmp_path, *programs)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(pod_checks, "_opens", lambda path: tun)
    try:
        said = pod_checks.uplink(DataDir(tmp_path))
    except Wrong as wrong:
        said = str(wrong)
    assert found in said


def test_ssh_is_looked_for_where_root_looks(monkeypatch: Patch, tmp_path: Path) -> None:
    with_programs(monkeypatch, tmp_path, "ssh")
    monkeypatch.setattr(pod_checks, "_SYSTEM_PROGRAMS", str(tmp_path))
    with pytest.raises(Wrong, match="sshd and ssh-keygen are not installed"):
        pod_checks.ssh(DataDir(tmp_path))
    with_programs(monkeypatch, tmp_path, "sshd", "ssh-keygen")
    assert pod_checks.ssh(DataDir(tmp_path))


REFUSED = Finding("user", False, "Operation not permitted", "sudo sysctl -w user.max_user_namespaces=100000")
LESS = Finding("overlay", False, "Invalid argument", "Linux 5.11 or newer allows it")


@pytest.mark.parametrize(
    ("findings", "said", "fix"),
    [
        ((LESS, REFUSED), "pods share this machine's network and files: user namespaces: Operation", REFUSED.fix),
        ((Finding("network", True), LESS), "pods lack a little: overlay mounts: Invalid argument", LESS.fix),
    ],
    ids=["refused", "less"],
)
def test_what_the_system_refuses_is_said_with_the_trial_s_own_fix(
    findings: tuple[Finding, ...], said: str, fix: str, monkeypatch: Patch, tmp_path: Path
) -> None:
    monkeypatch.setattr(isolation, "probe", lambda: Findings(findings))
    with pytest.raises(Wrong, match=said) as wrong:
        pod_checks.namespaces(DataDir(tmp_path))
    assert wrong.value.fix == fix


def test_gpus_are_named(monkeypatch: Patch, tmp_path: Path) -> None:
    monkeypatch.setattr(gpus, "found", lambda: [Gpu(n, str(n), 1, "NVIDIA H200") for n in range(2)])
    assert pod_checks.graphics(DataDir(tmp_path)) == "2 GPUs: NVIDIA H200"
    monkeypatch.setattr(gpus, "found", list)
    assert "--fake-gpus" in pod_checks.graphics(DataDir(tmp_path))
