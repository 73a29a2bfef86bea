# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from springtide.cli.doctor import pod_checks
from springtide.cli.doctor.errors import Wrong
from springtide.cli.doctor.pod_checks import POD_CHECKS
from springtide.local.datadir import DataDir
from springtide.local.kubelet.devices import gpus
from springtide.local.kubelet.devices.gpus import Gpu
from springtide.local.runtime import isolation
from springtide.local.runtime.isolation import Finding, Findings
from springtide.messages import Language, Text, shown

Patch = pytest.MonkeyPatch


def english(said: Text) -> str:
    return shown(said, Language.ENGLISH)


@pytest.mark.parametrize("check", POD_CHECKS, ids=lambda check: check.__name__)
def test_what_pods_lack_can_be_lived_with_and_fixed(
    check: Callable[[DataDir], Text], monkeypatch: Patch, tmp_path: Path
) -> None:
    with_network(monkeypatch, {})
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


NAMESPACES = Findings((Finding("network", True),))


def with_network(patch: Patch, answer: dict[str, object]) -> None:
    """In place of a real one, which would look for a way out of the machine that runs the tests."""

    async def tried(scratch: Path) -> dict[str, object]:
        return answer

    patch.setattr(isolation, "probe", lambda: NAMESPACES)
    patch.setattr(pod_checks, "_tried_network", tried)


@pytest.mark.parametrize(("way", "said"), [("pasta", "by pasta"), ("nat", "by address translation")])
def test_the_way_out_that_was_found_is_said(way: str, said: str, monkeypatch: Patch, tmp_path: Path) -> None:
    with_network(monkeypatch, {"uplink": way, "why": ""})
    assert english(pod_checks.uplink(DataDir(tmp_path))) == f"pods reach other machines {said}"


@pytest.mark.parametrize(
    ("programs", "tun", "fix"),
    [
        ([], True, "Install passt"),
        (["slirp4netns"], False, "chmod 0666 /dev/net/tun"),
        (["pasta"], True, "another release"),
    ],
)
def test_without_a_way_out_there_is_a_reason_and_a_fix(
    programs: list[str], tun: bool, fix: str, monkeypatch: Patch, tmp_path: Path
) -> None:
    with_network(monkeypatch, {"uplink": "none", "why": "pasta: No such file or directory"})
    with_programs(monkeypatch, tmp_path, *programs)
    monkeypatch.setattr(pod_checks, "_SYSTEM_PROGRAMS", str(tmp_path))
    monkeypatch.setattr(pod_checks, "_opens", lambda path: tun)
    with pytest.raises(Wrong, match="no other machines: pasta: No such file") as wrong:
        pod_checks.uplink(DataDir(tmp_path))
    assert fix in english(wrong.value.fix)


def test_pods_without_a_network_of_their_own_need_no_way_out(monkeypatch: Patch, tmp_path: Path) -> None:
    monkeypatch.setattr(isolation, "probe", lambda: Findings(()))
    assert "as this machine does" in english(pod_checks.uplink(DataDir(tmp_path)))


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
    assert english(wrong.value.fix) == fix


def test_gpus_are_named(monkeypatch: Patch, tmp_path: Path) -> None:
    monkeypatch.setattr(gpus, "found", lambda: [Gpu(n, str(n), 1, "NVIDIA H200") for n in range(2)])
    assert english(pod_checks.graphics(DataDir(tmp_path))) == "2 GPUs: NVIDIA H200"
    monkeypatch.setattr(gpus, "found", list)
    assert "--fake-gpus" in english(pod_checks.graphics(DataDir(tmp_path)))
