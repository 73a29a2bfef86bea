# SPDX-License-Identifier: Apache-2.0
"""Deleting, submitting by flags, pruning, and completing with live names, on an embedded cluster with real pods."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests import terminal
from tests.integration.cli.conftest import Finished, Tide, in_home

LASTS = "sleep 1000"
CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: images, annotations: {owner: mei, description: 训练图片}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""


@pytest.fixture(scope="module")
def tide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tide]:
    home = tmp_path_factory.mktemp("more") / "home"
    home.mkdir()
    with in_home(home) as tide:
        tide.ok("up", "-d", "--port", "0")
        yield tide


def done(tide: Tide, *words: str, code: int = 0) -> Finished:
    finished = tide.run(*words)
    assert finished.returncode == code, finished
    return finished


def submit(tide: Tide, name: str, command: str, *flags: str, kind: str = "mpijob") -> list[str]:
    return done(
        tide, "submit", kind, "--name", name, "--image", "python", *flags, command
    ).stdout.splitlines()  # fmt: skip


def names(tide: Tide, *words: str) -> list[str]:
    found = done(tide, "list", "-o", "name", *words).stdout.split()
    return sorted(each.rpartition("/")[2] for each in found)


def kubectl(tide: Tide, *words: str, stdin: str = "") -> str:
    environment = {**tide.environment, "KUBECONFIG": str(tide.place().kubeconfig)}
    command = ["kubectl", *words]
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, check=True, timeout=60, env=environment
    ).stdout


def test_jobs_are_deleted_with_what_was_made_for_them(tide: Tide) -> None:
    assert submit(tide, "one", LASTS, kind="etjob") == [
        "configmap/one-etjob created",
        "secret/one created",
        "trainingjob.kai.alibabacloud.com/one created",
    ]
    submit(tide, "two", LASTS)
    finished = done(tide, "delete", "one", "on", "two", code=5)
    assert finished.stdout.splitlines() == ["Job one is deleted.", "Job two is deleted."]
    assert finished.stderr.splitlines()[0] == "error: There is no job on in namespace default."
    assert finished.stderr.splitlines()[1] == "hint: did you mean one?"
    assert names(tide) == []
    found = kubectl(tide, "get", "configmaps,secrets", "-o", "name").split()
    assert [each for each in found if each.rpartition("/")[2].startswith(("one", "two"))] == []


def test_of_two_types_with_one_name_the_type_chooses(tide: Tide) -> None:
    submit(tide, "twin", LASTS)
    submit(tide, "twin", LASTS, kind="pytorchjob")
    refused = done(tide, "delete", "twin", code=2).stderr
    assert refused.splitlines()[1] == "hint: choose one with: --type mpijob"
    done(tide, "delete", "twin", "-T", "pytorch")
    assert done(tide, "list", "-o", "name").stdout.split() == ["mpijob.kubeflow.org/twin"]
    assert "There is no type of jobs nonsense." in done(tide, "delete", "twin", "-T", "nonsense", code=2).stderr
    done(tide, "del", "twin")


def test_on_a_terminal_an_unfinished_job_is_asked_for(tide: Tide) -> None:
    submit(tide, "asked", LASTS)
    with terminal.bash(tide.environment, tide.home) as shell:
        for answer, status in (("n", 103), ("", 103), ("y", 0)):
            begin = len(shell.shown)
            shell.type("tide delete asked; echo status=$?\n")
            shell.wait_for(r"Delete MPIJob asked \(\w+\)\? It has not finished\. \[y/N\] ", begin)
            shell.type(f"{answer}\n")
            said = shell.wait_for(r"^status=\d+", begin)
            assert f"status={status}" in said
            assert ("Job asked is deleted." if status == 0 else "Nothing was changed.") in said
        begin = len(shell.shown)
        submit(tide, "asked", LASTS)
        shell.type("tide delete asked\n")
        shell.wait_for("has not finished", begin)
        shell.type("\x03")
        shell.wait_for(r"ready> \Z", begin)
        assert shell.run("echo $?")[1].splitlines()[1] == "130"
    assert names(tide) == ["asked"]
    done(tide, "delete", "asked", "--yes")


def test_a_command_arrives_as_it_was_typed(tide: Tide) -> None:
    words = ["echo", "a  b", "$HOME", 'c"d', "-n"]
    finished = done(tide, "submit", "pytorchjob", "--name=echo", "--image=python", "--wait", "--", *words)
    assert "Job echo has succeeded." in finished.stdout
    assert done(tide, "logs", "echo").stdout.splitlines()[-1] == 'a  b $HOME c"d -n'
    submit(tide, "line", "echo a  b\n  -n", "--wait", kind="pytorchjob")
    assert done(tide, "logs", "line").stdout.splitlines()[-1] == "a b -n"
    done(tide, "delete", "echo", "line")


@pytest.mark.parametrize("where", ["client", "server"])
@pytest.mark.parametrize("kind", ["etjob", "deepspeedjob", "mpijob", "tfjob", "pytorchjob"])
def test_a_dry_run_creates_nothing(tide: Tide, kind: str, where: str) -> None:
    out = submit(tide, "dry", LASTS, f"--dry-run={where}", "-o=yaml", "--workers=2", kind=kind)
    objects = list(yaml.safe_load_all("\n".join(out)))
    assert objects[0]["kind"] == "ConfigMap"
    assert objects[-1]["metadata"]["name"] == "dry"
    assert ("uid" in objects[-1]["metadata"]) is (where == "server")
    assert names(tide) == []


def test_what_the_flags_ask_for_is_checked(tide: Tide) -> None:
    for flags, what in (
        (["--env=A"], "error: --env is not valid"),
        (["--priority=high"], "error: There is no priority high."),
        (["--config-file=/nowhere"], "error: --config-file is not valid"),
        (["--sync-mode=git"], "error: --sync-source is not valid"),
    ):
        line = ["submit", "etjob", "--name=bad", "--image=python", *flags, "true"]
        assert done(tide, *line, code=2).stderr.splitlines()[0] == what
    old = done(tide, "submit", "etjob", "--name=old", "--image=python", "--workingDir=/tmp", "--dry-run=client", "x")
    assert "--workingDir is an old name of --working-dir." in old.stderr
    submit(tide, "there", LASTS)
    taken = done(tide, "submit", "mpijob", "--name=there", "--image=python", LASTS, code=1).stderr
    assert "hint: delete it first, or choose another name: tide delete there" in taken
    done(tide, "delete", "there")


def test_old_jobs_that_have_finished_are_pruned(tide: Tide) -> None:
    submit(tide, "ended", "true", "--wait")
    submit(tide, "goes-on", LASTS)
    assert "No finished job is that old." in done(tide, "prune", "--since", "3d").stderr
    assert [line.split()[0] for line in done(tide, "prune", "--since=0", "--dry-run").stdout.splitlines()] == [
        "NAME",
        "ended",
    ]
    assert names(tide) == ["ended", "goes-on"]
    assert done(tide, "prune", "--since=0", "-A").stdout == "Job ended is deleted.\n"
    assert names(tide) == ["goes-on"]
    done(tide, "delete", "goes-on")


def test_data_volumes_and_the_user_are_shown(tide: Tide) -> None:
    assert done(tide, "data").stderr == "There are no data volumes.\n"
    kubectl(tide, "apply", "-f", "-", stdin=CLAIM)
    shown = done(tide, "data", "list").stdout.splitlines()
    assert shown[0].split()[:2] == ["NAME", "STATUS"]
    assert shown[1].split()[0] == "images"
    assert "训练图片" in shown[1]
    assert json.loads(done(tide, "data", "-A", "-o", "json").stdout)[0]["owner"] == "mei"
    assert done(tide, "data", "-o", "name").stdout == "persistentvolumeclaim/images\n"
    kubectl(tide, "delete", "pvc", "images")

    said = done(tide, "whoami").stdout
    assert "User:       kubernetes-admin" in said
    assert "(embedded cluster springtide)" in said
    assert json.loads(done(tide, "whoami", "-o", "json", "-n", "team").stdout)["namespace"] == "team"


def test_live_names_are_completed(tide: Tide) -> None:
    submit(tide, "vision-a", LASTS)
    submit(tide, "vision-b", LASTS, kind="pytorchjob")
    _wait_for_pods(tide, "vision-a")
    with terminal.bash(tide.environment, tide.home) as shell:
        assert shell.run('eval "$(tide completion bash)"')[0] == 0
        for typed, completed in {
            "tide delete vision-a ": "tide delete vision-a vision-b ",
            "tide logs -T pytorchjob ": "tide logs -T pytorchjob vision-b ",
            "tide get -n kube-n": "tide get -n kube-node-lease ",
            "tide logs vision-a -i vision-a-l": "tide logs vision-a -i vision-a-launcher ",
            "tide list --type py": "tide list --type pytorchjob ",
        }.items():
            shell.complete(typed, completed)
    done(tide, "delete", "vision-a", "vision-b")


def _wait_for_pods(tide: Tide, name: str) -> None:
    deadline = time.monotonic() + 60
    while f"{name}-launcher" not in kubectl(tide, "get", "pods", "-o", "name"):
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_live_names_are_completed_in_fish(tide: Tide) -> None:
    submit(tide, "vision-a", LASTS)
    script = 'tide completion fish | source; complete -C "tide delete "'
    said = subprocess.run(
        ["fish", "-c", script], capture_output=True, text=True, env=tide.environment, timeout=60, check=True
    )
    assert said.stdout.split() == ["vision-a", "MPIJob"]
    done(tide, "delete", "vision-a")


def test_kubectl_runs_tide_and_completes_it(tide: Tide) -> None:
    submit(tide, "plugged", LASTS)
    assert kubectl(tide, "tide", "list", "-o", "name") == "mpijob.kubeflow.org/plugged\n"
    assert "Usage: kubectl tide list" in kubectl(tide, "tide", "list", "--help")
    answer = kubectl(tide, "__complete", "tide", "delete", "").splitlines()
    assert answer[0].split() == ["plugged", "MPIJob"]
    assert answer[1] == ":4"
    done(tide, "delete", "plugged")


def test_both_plugins_are_programs_of_the_package() -> None:
    for program in ("kubectl-tide", "kubectl_complete-tide"):
        assert shutil.which(program, path=os.pathsep.join([str(Path(sys.executable).parent)]))
