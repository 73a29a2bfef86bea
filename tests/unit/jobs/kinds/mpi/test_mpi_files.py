# SPDX-License-Identifier: Apache-2.0
"""What a launcher finds in /etc/mpi."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.unit.api.builders import a_template, an_mpijob

from springtide.api.defaults.mpijob import defaulted
from springtide.jobs.kind import NOBODY, Hosts
from springtide.jobs.kinds.mpi.files import files
from springtide.jobs.observed import Settings

HOSTS = Hosts(("pi-worker-0", "pi-worker-3"), ("pi-worker-0", "pi-worker-3", "pi-worker-4"), "uid-1")
GPU = {"template": a_template("mpirun", resources={"limits": {"nvidia.com/gpu": 1}})}


def made(version: str = "v1", hosts: Hosts = HOSTS, domain: str = "", **spec: Any) -> dict[str, str]:
    return dict(files(defaulted(an_mpijob(version, **spec)), hosts, Settings(cluster_domain=domain)))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"slotsPerWorker": 2}, "pi-worker-0 slots=2\npi-worker-3 slots=2\n"),
        ({"launcher": GPU}, "pi-launcher slots=1\npi-worker-0 slots=1\npi-worker-3 slots=1\n"),
        ({"version": "v2beta1"}, "pi-worker-0.pi.ns.svc slots=1\npi-worker-3.pi.ns.svc slots=1\n"),
        ({"version": "v2beta1", "launcher": GPU}, "pi-worker-0.pi.ns.svc slots=1\npi-worker-3.pi.ns.svc slots=1\n"),
        (
            {"version": "v2beta1", "mpiImplementation": "Intel", "slotsPerWorker": 3},
            "pi-worker-0.pi.ns.svc:3\npi-worker-3.pi.ns.svc:3\n",
        ),
        (
            {"version": "v2beta1", "mpiImplementation": "MPICH", "domain": "x.y"},
            "pi-worker-0.pi.ns.svc.x.y:1\npi-worker-3.pi.ns.svc.x.y:1\n",
        ),
        (
            {"version": "v2beta1", "runLauncherAsWorker": True},
            "pi-launcher.pi.ns.svc slots=1\npi-worker-0.pi.ns.svc slots=1\npi-worker-3.pi.ns.svc slots=1\n",
        ),
    ],
    ids=[
        "v1: names of pods and slots",
        "v1: a launcher with a GPU comes first",
        "v2beta1: names in DNS",
        "v2beta1: a GPU makes no worker of a launcher",
        "Intel MPI",
        "MPICH, with a cluster domain",
        "v2beta1: a launcher that is a worker comes first",
    ],
)
def test_the_hostfile_of(arguments: dict[str, Any], expected: str) -> None:
    assert made(**arguments)["hostfile"] == expected


def test_nobody_is_in_the_files_before_hosts_are_given() -> None:
    found = made(hosts=Hosts(("pi-worker-0",), ("pi-worker-0",), ""))
    assert found["hostfile"] == ""
    assert "pi-worker" not in found["discover_hosts.sh"]


def run(script: str, tmp_path: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "script.sh"
    path.write_text(script)
    command = ["/bin/sh", str(path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **env})


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
def test_discovery_says_slots_of_ready_workers_alone(version: str, tmp_path: Path) -> None:
    suffix = ".pi.ns.svc" if version == "v2beta1" else ""
    assert run(made(version)["discover_hosts.sh"], tmp_path).stdout == f"pi-worker-0{suffix}:1\npi-worker-3{suffix}:1\n"


def test_discovery_fails_rather_than_say_nothing(tmp_path: Path) -> None:
    ended = run(made(hosts=NOBODY)["discover_hosts.sh"], tmp_path)
    assert (ended.returncode, ended.stdout) == (1, "")


def test_hosts_are_given_to_one_launcher_pod_alone(tmp_path: Path) -> None:
    script = made()["hosts_given.sh"]
    assert run(script, tmp_path, "uid-1").returncode == 0
    assert run(script, tmp_path, "uid-2").returncode == 1
    nobody = made(hosts=NOBODY)["hosts_given.sh"]
    assert run(nobody, tmp_path, "").returncode == 1


@pytest.mark.parametrize(("container", "option"), [(None, ""), ("main", "--container main ")])
@pytest.mark.parametrize("delivered", [True, False], ids=["a delivered kubectl", "the pod's own kubectl"])
def test_kubexec_joins_its_words_into_one_command(
    delivered: bool, container: str | None, option: str, tmp_path: Path
) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text('#!/bin/sh\nfor word; do printf "%s|" "$word"; done\nexit 7\n')
    kubectl.chmod(0o755)
    script = made(mainContainer=container)["kubexec.sh"]
    script = script.replace("/opt/kube/kubectl", str(kubectl if delivered else tmp_path / "missing"))
    path = os.environ["PATH"] if delivered else f"{tmp_path}:{os.environ['PATH']}"
    ended = run(script, tmp_path, "pi-worker-0", "orted", "-x", "'a b'", PATH=path)
    expected = f"exec pi-worker-0 {option}-- /bin/sh -c".replace(" ", "|")
    assert ended.stdout == f"{expected}|orted -x 'a b'|"
    assert ended.returncode == 7


def test_kubexec_is_for_v1_alone() -> None:
    assert sorted(made("v2beta1")) == ["discover_hosts.sh", "hostfile", "hosts_given.sh"]


def test_kubexec_says_what_to_do_where_there_is_no_kubectl(tmp_path: Path) -> None:
    ended = run(made()["kubexec.sh"], tmp_path, "pi-worker-0", "orted", PATH=str(tmp_path))
    assert ended.returncode == 127
    assert "no kubectl" in ended.stderr
    assert "--kubectl-delivery-image" in ended.stderr
