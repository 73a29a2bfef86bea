# SPDX-License-Identifier: Apache-2.0
"""`tide`'s verbs on jobs, on an embedded cluster with real pods."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import terminal
from tests.integration.cli.conftest import Finished, Tide, in_home
from tests.terminal import Terminal

TRAIN = """
import pathlib, sys, time
from springtide import elastic

state = elastic.State(step=0)

@elastic.run
def train(state):
    while not pathlib.Path(sys.argv[1]).exists():
        time.sleep(0.05)
        state.step += 1
        if state.step % 20 == 0:
            print("trained", flush=True)
        state.commit()

train(state)
"""
TRAINING_JOB = """
apiVersion: kai.alibabacloud.com/v1alpha1
kind: TrainingJob
metadata: {{name: et}}
spec:
  etReplicaSpecs:
    launcher:
      replicas: 1
      template:
        spec:
          containers:
            - name: et
              image: python
              workingDir: {work}
              command: [tiderun, -np, "1", --min-np, "1", --host-discovery-script, /etc/edl/discover_hosts.sh]
              args: [python, train.py, end-et]
              volumeMounts: [{{name: work, mountPath: {work}}}]
          volumes: [{{name: work, hostPath: {{path: {work}}}}}]
    worker:
      replicas: 1
      maxReplicas: 3
      template:
        spec:
          containers: [{{name: et, image: python, volumeMounts: [{{name: work, mountPath: {work}}}]}}]
          volumes: [{{name: work, hostPath: {{path: {work}}}}}]
"""


class Work(Tide):
    """In a directory of the home, with a program that trains until the file that it is given exists."""

    def __init__(self, home: Path) -> None:
        super().__init__(home / "work", [sys.executable, "-m", "springtide.cli"], {"HOME": str(home)})
        self.home.mkdir()
        (self.home / "train.py").write_text(TRAIN)

    def begin(self, name: str, *options: str) -> None:
        """A job that runs with its workers."""
        self.quietly("run", "-d", "--name", name, *options, "--", "python", "train.py", f"end-{name}")
        self.until_running(name)

    def end(self, name: str) -> None:
        (self.home / f"end-{name}").touch()

    def until_running(self, name: str) -> None:
        deadline = time.monotonic() + 60
        while self.kubectl("get", "mpijob", name, "-o", "jsonpath={.status.progress.ranks}") in ("", "0"):
            assert time.monotonic() < deadline, self.status(name)
            time.sleep(0.1)

    def until_gone(self, name: str) -> None:
        deadline = time.monotonic() + 60
        while self.pods(name):
            assert time.monotonic() < deadline
            time.sleep(0.1)

    def status(self, name: str, kind: str = "mpijob") -> dict[str, object]:
        found: dict[str, object] = self.object(kind, name).get("status", {})
        return found

    def object(self, kind: str, name: str) -> dict[str, dict[str, object]]:
        found: dict[str, dict[str, object]] = json.loads(self.kubectl("get", kind, name, "-o", "json"))
        return found

    def pods(self, name: str) -> list[str]:
        lines = self.kubectl("get", "pods", "-l", f"springtide.dev/job={name}", "-o", "name").split()
        return sorted(line.removeprefix("pod/") for line in lines)

    def create(self, manifest: str) -> None:
        (self.home / "created.yaml").write_text(manifest)
        self.kubectl("create", "-f", str(self.home / "created.yaml"))

    def kubectl(self, *words: str) -> str:
        kubeconfig = self.home.parent / ".local/share/springtide/clusters/springtide/kubeconfig"
        command = ["kubectl", "--kubeconfig", str(kubeconfig), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout

    def quietly(self, *words: str) -> str:
        """The command must succeed; progress on stderr is allowed."""
        done = self.run(*words)
        assert done.returncode == 0, done
        return done.stdout

    def refused(self, code: int, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == code, done
        return done.stderr


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Of a user with a running cluster with four GPUs."""
    home = tmp_path_factory.mktemp("verbs") / "home"
    home.mkdir()
    with in_home(home) as tide:
        tide.ok("up", "-d", "--port", "0", "--node", "node-a=nvidia.com/gpu:4")
        yield home


@pytest.fixture(scope="module")
def work(home: Path) -> Work:
    return Work(home)


@pytest.fixture
def shell(work: Work) -> Iterator[Terminal]:
    with terminal.bash(work.environment, work.home) as shell:
        yield shell


def steps(done: Finished) -> list[str]:
    return [line.split("  ")[1].strip("✓ ") for line in done.stderr.splitlines() if line.startswith("  ✓")]


# tide run


def test_run_follows_the_log_of_a_job_until_it_succeeds(work: Work) -> None:
    done = work.run(
        "run", "--name", "hello", "-e", "GIVEN=a $b", "--", "sh", "-c", 'echo "$GIVEN in $PWD" "$0"', "$(x)"
    )
    assert done.returncode == 0, done
    assert sorted(done.stdout.splitlines()) == [f"[{rank}]<stdout>:a $b in {work.home} $(x)" for rank in (0, 1)]
    assert "MPIJob hello: 2 workers, 1 to 4 allowed" in done.stderr
    assert "Job hello has succeeded." in done.stderr


def test_run_exits_with_100_when_the_program_fails(work: Work) -> None:
    done = work.run("run", "--name", "broken", "--", "sh", "-c", "echo no luck; exit 3")
    assert done.returncode == 100, done
    assert "no luck" in done.stdout
    assert "error: Job broken has failed." in done.stderr
    assert "exited with code 3" in done.stderr


def test_run_uses_the_virtual_environment_of_the_directory_and_does_not_change_it(work: Work, home: Path) -> None:
    place = Tide(home / "own", [sys.executable, "-m", "springtide.cli"], {"HOME": str(home)})
    place.home.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place.home / ".venv")], check=True)
    (packages,) = (place.home / ".venv").glob("lib/python*/site-packages")
    (packages / "only_here.py").write_text("VALUE = 42")
    before = sorted(place.home.rglob("*"))
    program = "import only_here, springtide.elastic; print(only_here.VALUE)"
    done = place.run("run", "--workers", "1", "--", "python", "-Bc", program)
    assert (done.returncode, done.stdout) == (0, "[0]<stdout>:42\n"), done
    assert f"Environment: the virtual environment of this directory, {place.home}/.venv" in done.stderr
    assert sorted(place.home.rglob("*")) == before


def test_run_in_another_image_and_environment(work: Work) -> None:
    work.ok("env", "create", "named", "--env", "FROM=named")
    done = work.run("run", "--environment", "named", "--workers", "1", "--", "sh", "-c", "echo from $FROM")
    assert (done.returncode, done.stdout) == (0, "[0]<stdout>:from named\n"), done
    done = work.run("run", "--image", "bash", "--workers", "1", "--", "sh", "-c", "echo $PWD")
    assert (done.returncode, done.stdout) == (0, f"[0]<stdout>:{work.home}\n"), done


def test_ctrl_c_while_a_job_is_followed_asks_whether_to_detach_or_stop(work: Work, shell: Terminal) -> None:
    begin = len(shell.shown)
    shell.type("tide run --name asked -- python train.py end-asked\n")
    shell.wait_for("trained", begin)
    question = r"d: detach, s: stop, Enter: go on following \[d/s\] \Z"
    for answer in ("x\n", "\n"):  # asked again, then followed on
        shell.type("\x03" if answer == "x\n" else "")
        shell.wait_for(question, begin)
        begin = len(shell.shown)
        shell.type(answer)
    shell.wait_for("trained", begin)
    shell.type("\x03")
    shell.wait_for(question, begin)
    shell.type("d\n")
    shell.wait_for("ready> \\Z", begin)
    assert shell.run("echo")[0] == 0
    assert "Detached from job asked, which goes on." in shell.shown[begin:]
    assert work.status("asked")["state"] == "Running"
    work.end("asked")
    assert work.quietly("wait", "asked") == "Job asked has succeeded.\n"


@pytest.mark.parametrize(
    ("keys", "status", "message"),
    [
        ("\x03", 101, "Detached from job"),
        ("\x04", 101, "Detached from job"),
        ("s\n", 103, "is stopped and deleted."),
    ],
    ids=["Ctrl-C", "Ctrl-D", "s"],
)
def test_answers_to_that_question(work: Work, shell: Terminal, keys: str, status: int, message: str) -> None:
    begin = len(shell.shown)
    shell.type("tide run -- python train.py never; echo status=$?\n")
    shell.wait_for("trained", begin)
    shell.type("\x03")
    shell.wait_for(r"\[d/s\] \Z", begin)
    shell.type(keys)
    said = shell.wait_for(rf"status={status}\r\n", begin)
    assert message in said
    assert "Traceback" not in said
    for name in work.kubectl("get", "mpijobs", "-o", "name").split():
        if name.startswith("mpijob.kubeflow.org/work-"):
            work.kubectl("delete", name)


@pytest.mark.parametrize("reason", ["Ctrl-C", "closed pipe"])
def test_without_a_terminal_run_detaches(work: Work, reason: str) -> None:
    with work.start("run", "--name", "alone", "--", "python", "train.py", "end-alone") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "trained" in process.stdout.readline()
        if reason == "Ctrl-C":
            process.send_signal(signal.SIGINT)
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 101
    assert "Detached from job alone, which goes on." in said
    assert "Traceback" not in said
    assert work.status("alone")["state"] == "Running"
    work.kubectl("delete", "mpijob", "alone")
    work.until_gone("alone")


# Sizes


@pytest.fixture(scope="module")
def grown(work: Work) -> Iterator[Work]:
    """With a job that trains with two workers, each of which has a GPU."""
    work.begin("grow", "--gpus", "1", "--max", "8")
    yield work
    work.kubectl("delete", "mpijob", "grow")


def test_a_resize_shows_its_five_steps(grown: Work) -> None:
    done = grown.run("scale", "grow", "--workers", "+1")
    assert (done.returncode, done.stdout) == (0, "Job grow has 3 workers.\n"), done
    assert done.stderr.startswith("MPIJob grow: 2 → 3 workers (1 to 8 allowed)\n")
    assert len(steps(done)) == 5
    assert grown.status("grow")["workers"] == "3/3"
    done = grown.run("scalein", "grow", "--pod-names", "grow-worker-0")
    assert (done.returncode, done.stdout) == (0, "Job grow has 2 workers.\n"), done
    assert len(steps(done)) == 5
    assert grown.pods("grow") == ["grow-launcher", "grow-worker-1", "grow-worker-2"]
    assert "MPIJob grow has 2 workers already." in grown.run("scale", "grow", "--workers", "2").stderr


def test_a_resize_that_is_not_done_in_time_exits_with_6_and_the_reason(grown: Work) -> None:
    error = grown.refused(6, "scale", "grow", "--workers", "7", "--timeout", "2s")
    assert "error: Job grow does not have 7 workers in time." in error
    assert "Insufficient nvidia.com/gpu" in error
    assert grown.quietly("scale", "grow", "--workers", "2") == "Job grow has 2 workers.\n"
    assert grown.quietly("scaleout", "grow", "--no-wait") == ""
    assert grown.quietly("scale", "grow", "--workers", "2") == "Job grow has 2 workers.\n"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["grow", "--workers", "9"], 1, "cause: it has 2 and may have 1 to 8"),
        (["grow", "--workers", "-2"], 1, "hint: the nearest size: tide scale grow --workers 1"),
        (["grow", "--workers", "many"], 2, "error: many is no number of workers."),
        (["grwo", "--workers", "2"], 5, "hint: did you mean grow?"),
        (["grow", "--workers", "1", "--pod-names", "a,b"], 2, "error: 2 pods are named, and 1 are to go."),
        (
            ["grow", "--workers", "-1", "--pod-names", "grow-launcher"],
            5,
            "error: Job grow has no worker grow-launcher.",
        ),
        (["grow", "--workers", "3", "--type", "horovod"], 2, "error: There is no type of jobs horovod."),
    ],
)
def test_resizes_that_cannot_be(grown: Work, words: list[str], code: int, message: str) -> None:
    assert message in grown.refused(code, "scale", *words)


def test_a_script_needs_a_training_job(grown: Work) -> None:
    assert "only TrainingJobs" in grown.refused(2, "scaleout", "grow", "--script", "/x.sh")


def test_training_jobs_are_resized_by_scalers(work: Work) -> None:
    (work.home / "et.yaml").write_text(TRAINING_JOB.format(work=work.home))
    assert work.quietly("submit", "-f", "et.yaml") == "trainingjob.kai.alibabacloud.com/et created\n"
    deadline = time.monotonic() + 60
    while work.status("et", "trainingjob").get("phase") != "Running":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert work.quietly("scaleout", "et", "--count", "2", "--timeout", "60s") == "Job et has 3 workers.\n"
    assert work.quietly("scalein", "et", "--pod-names", "et-worker-0") == "Job et has 2 workers.\n"
    assert work.pods("et") == ["et-launcher", "et-worker-1", "et-worker-2"]
    assert "cause: /no.sh exited with code " in work.refused(1, "scaleout", "et", "--script", "/no.sh")
    assert "may have 1 to 3" in work.refused(1, "scaleout", "et", "--count", "2")
    kinds = work.kubectl("get", "scaleouts,scaleins", "-o", "jsonpath={range .items[*]}{.status.phase} {end}").split()
    assert sorted(kinds) == ["ScaleFailed", "ScaleSucceeded", "ScaleSucceeded"]
    assert work.quietly("suspend", "et", "--wait") == "Job et is suspended and has no pods.\n"
    assert work.quietly("resume", "et") == "Job et is resumed.\n"
    work.kubectl("delete", "trainingjob", "et")


# Suspending and starting again


def test_a_job_is_suspended_resized_resumed_and_restarted(work: Work) -> None:
    work.begin("pause")
    assert work.quietly("suspend", "pause", "--wait") == "Job pause is suspended and has no pods.\n"
    assert work.pods("pause") == []
    assert work.quietly("suspend", "pause") == "Job pause is suspended already.\n"
    done = work.run("scale", "pause", "--workers", "3")
    assert done.returncode == 0
    assert "cause: the job is suspended; the size counts when it is resumed" in done.stderr
    assert work.quietly("resume", "pause") == "Job pause is resumed.\n"
    assert work.quietly("resume", "pause") == "Job pause is not suspended.\n"
    work.until_running("pause")
    assert [name for name in work.pods("pause") if "worker" in name] == [
        f"pause-worker-{number}" for number in range(3)
    ]
    first = work.object("pod", "pause-launcher")["metadata"]["uid"]
    assert "agree with --yes" in work.refused(2, "restart", "pause")
    assert work.quietly("restart", "pause", "--yes") == "Job pause starts again.\n"
    work.until_running("pause")
    assert work.object("pod", "pause-launcher")["metadata"]["uid"] != first
    work.end("pause")
    assert work.quietly("wait", "pause") == "Job pause has succeeded.\n"
    assert "it has finished: Succeeded" in work.refused(1, "suspend", "pause")
    uid = work.object("mpijob", "pause")["metadata"]["uid"]
    assert work.quietly("restart", "pause", "--yes") == "Job pause is created anew.\n"
    assert work.object("mpijob", "pause")["metadata"]["uid"] != uid
    assert work.quietly("wait", "pause") == "Job pause has succeeded.\n"


@pytest.mark.parametrize(
    ("keys", "status"), [("\x03", 130), ("n\n", 103), ("\x04", 103)], ids=["Ctrl-C", "n", "Ctrl-D"]
)
def test_a_restart_that_is_not_agreed_to_changes_nothing(grown: Work, shell: Terminal, keys: str, status: int) -> None:
    version = grown.object("mpijob", "grow")["metadata"]["generation"]
    begin = len(shell.shown)
    shell.type("tide restart grow; echo status=$?\n")
    shell.wait_for(r"is lost\. \[y/N\] \Z", begin)
    shell.type(keys)
    shell.wait_for(rf"status={status}\r\n", begin)
    assert grown.object("mpijob", "grow")["metadata"]["generation"] == version


def test_a_restart_that_is_interrupted_leaves_no_job_suspended(work: Work, shell: Terminal) -> None:
    work.begin("stubborn")
    work.kubectl("annotate", "mpijob", "stubborn", "springtide.dev/drain-seconds=60")
    work.kubectl("patch", "pod", "stubborn-launcher", "--type=merge", "-p", '{"metadata":{"finalizers":["test/keep"]}}')
    begin = len(shell.shown)
    shell.type("tide restart stubborn --yes; echo status=$?\n")
    deadline = time.monotonic() + 60
    while "suspend" not in work.object("mpijob", "stubborn")["spec"]["runPolicy"]:  # type: ignore[operator]  # of JSON
        assert time.monotonic() < deadline
        time.sleep(0.05)
    shell.type("\x03")
    shell.wait_for(r"status=130\r\n", begin)
    assert work.object("mpijob", "stubborn")["spec"]["runPolicy"]["suspend"] is False  # type: ignore[index]  # of JSON
    work.kubectl("patch", "pod", "stubborn-launcher", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    work.kubectl("delete", "mpijob", "stubborn")


def test_the_manifest_of_a_job_that_is_not_created_again_is_kept(work: Work) -> None:
    work.quietly("run", "-d", "--name", "kept", "--", "true")
    work.quietly("wait", "kept")
    work.kubectl("patch", "mpijob", "kept", "--type=merge", "-p", '{"metadata":{"finalizers":["test/keep"]}}')
    error = work.refused(1, "restart", "kept", "--yes", "--timeout", "1s")
    assert "error: Job kept is deleted, and was not created again." in error
    work.kubectl("patch", "mpijob", "kept", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    file = error.split()[-1]
    assert work.quietly("submit", "-f", file, "--wait").endswith("Job kept has succeeded.\n")
    Path(file).unlink()


def test_what_arena_has_made_beside_a_job_is_made_anew_with_it(work: Work) -> None:
    container = "{name: et, image: python, command: [sh, -c, 'true']}"
    work.create(
        f"""
apiVersion: kai.alibabacloud.com/v1alpha1
kind: TrainingJob
metadata: {{name: listed, labels: {{app: etjob, release: listed}}}}
spec:
  etReplicaSpecs:
    launcher: {{replicas: 1, template: {{spec: {{containers: [{container}]}}}}}}
    worker: {{replicas: 1, template: {{spec: {{containers: [{{name: et, image: python}}]}}}}}}
"""
    )
    owner = {"apiVersion": "kai.alibabacloud.com/v1alpha1", "kind": "TrainingJob", "name": "listed"}
    owner["uid"] = str(work.object("trainingjob", "listed")["metadata"]["uid"])
    work.create(
        f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: listed-etjob, labels: {{createdBy: arena}}, ownerReferences: [{json.dumps(owner)}]}}
data: {{app: "service./listed-tensorboard\\ntrainingjob.kai.alibabacloud.com/listed\\n"}}
---
apiVersion: v1
kind: Service
metadata: {{name: listed-tensorboard, ownerReferences: [{json.dumps(owner)}]}}
spec: {{type: NodePort, selector: {{a: b}}, ports: [{{port: 6006}}]}}
"""
    )
    work.quietly("wait", "listed")
    work.quietly("restart", "listed", "--yes")
    uid = work.object("trainingjob", "listed")["metadata"]["uid"]
    for kind, name in (("configmap", "listed-etjob"), ("service", "listed-tensorboard")):
        owners = json.loads(work.kubectl("get", kind, name, "-o", "jsonpath={.metadata.ownerReferences}"))
        assert [owner["uid"] for owner in owners] == [uid]
        assert work.object(kind, name)["metadata"]["name"] == name


# Manifests


def test_a_clone_differs_in_its_name_and_size(work: Work) -> None:
    work.quietly("run", "-d", "--name", "first", "--", "true")
    work.quietly("wait", "first")
    done = work.run("clone", "first", "second", "--workers", "3", "--dry-run", "client", "-o", "json")
    copy = json.loads(done.stdout)
    assert (copy["metadata"]["name"], copy["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"]) == ("second", 3)
    assert not {"status", "uid"} & {*copy, *copy["metadata"]}
    assert work.quietly("clone", "first", "second", "-o", "name") == "mpijob.kubeflow.org/second\n"
    assert work.quietly("wait", "second") == "Job second has succeeded.\n"
    assert "its spec allows 1 to 4" in work.refused(2, "clone", "first", "third", "--workers", "9")
    assert "error: MPIJob second exists already." in work.refused(1, "clone", "first", "second")
    assert "error: Third cannot be the name" in work.refused(2, "clone", "first", "Third")


def test_a_manifest_is_compared_submitted_and_waited_for(work: Work) -> None:
    work.quietly("run", "-d", "--name", "model", "--", "true")
    manifest = work.kubectl("get", "mpijob", "model", "-o", "yaml")
    (work.home / "model.yaml").write_text(manifest)
    assert work.run("diff", "-f", "model.yaml").returncode == 0
    (work.home / "model.yaml").write_text(manifest.replace("maxReplicas: 4", "maxReplicas: 6"))
    done = work.run("diff", "-f", "model.yaml")
    assert done.returncode == 1
    assert "-    maxReplicas: 4\n+    maxReplicas: 6\n" in done.stdout
    assert "error: MPIJob model exists already." in work.refused(1, "submit", "-f", "model.yaml")
    other = manifest.replace("name: model\n", "name: other\n")
    settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
    (work.home / "other.yaml").write_text(f"{settings}---\n{other}")
    dry = work.quietly("submit", "-f", "other.yaml", "--dry-run", "server")
    assert dry.splitlines() == [
        "configmap/settings created (server dry run)",
        "mpijob.kubeflow.org/other created (server dry run)",
    ]
    assert "+kind: ConfigMap" in work.run("diff", "-f", "other.yaml").stdout
    done = work.run("submit", "-f", "other.yaml", "--wait")
    assert done.returncode == 0, done
    assert done.stdout.splitlines()[-1] == "Job other has succeeded."
    assert "other: Succeeded" in done.stderr


def test_waiting_has_an_exit_code_for_each_ending(work: Work) -> None:
    work.quietly("run", "-d", "--name", "bad", "--workers", "1", "--", "false")
    error = work.refused(100, "wait", "bad")
    assert "error: Job bad has failed." in error
    assert "hint: read its log: tide logs bad" in error
    work.begin("long")
    assert "error: Job long has not finished in time." in work.refused(6, "wait", "long", "--timeout", "1s")
    with work.start("wait", "long") as waiting:
        assert waiting.stderr is not None
        assert waiting.stderr.readline().startswith("long: Running")
        work.kubectl("delete", "mpijob", "long")
        assert waiting.wait(60) == 103


def test_manifests_that_are_wrong(work: Work) -> None:
    files = {
        "kind.yaml": "apiVersion: v1\nkind: Nonsense\nmetadata: {name: a}\n",
        "spec.yaml": "apiVersion: kubeflow.org/v1\nkind: MPIJob\nmetadata: {name: a}\nspec: {}\n",
        "typo.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndta: {}\n",
        "lacks.yaml": "kind: MPIJob\n",
    }
    for name, content in files.items():
        (work.home / name).write_text(content)
    assert "error: The cluster has no kind Nonsense of v1." in work.refused(1, "submit", "-f", "kind.yaml")
    assert "error: MPIJob a is not valid." in work.refused(1, "submit", "-f", "spec.yaml")
    assert 'unknown field "dta"' in work.refused(1, "submit", "-f", "typo.yaml")
    assert "lacks apiVersion, metadata.name." in work.refused(2, "submit", "-f", "lacks.yaml")
    assert "error: none.yaml cannot be read." in work.refused(2, "diff", "-f", "none.yaml")
    assert work.run("diff", "-f", "spec.yaml").returncode == 2


# Without a cluster


def test_run_offers_to_start_a_cluster(tide: Tide) -> None:
    assert "hint: start one on this machine with: " in tide.run("run", "--", "true").stderr
    with terminal.bash(tide.environment, tide.home) as shell:
        for keys, status in (("\x03", 130), ("n\n", 1), ("\x04", 1)):
            begin = len(shell.shown)
            shell.type("tide run -- true; echo status=$?\n")
            shell.wait_for(r"Start one on this machine with tide up -d\? \[Y/n\] \Z", begin)
            shell.type(keys)
            shell.wait_for(rf"status={status}\r\n", begin)
        begin = len(shell.shown)
        shell.type("tide run --workers 1 -- echo ran; echo status=$?\n")
        shell.wait_for(r"\[Y/n\] \Z", begin)
        shell.type("\n")
        said = shell.wait_for(r"status=0\r\n", begin)
    assert "ran" in said
    tide.ok("down")


def test_messages_are_in_the_user_s_language(work: Work) -> None:
    done = work.run("--lang", "zh", "scale", "nobody", "--workers", "2")
    assert done.returncode == 5
    assert done.stderr.startswith("错误：命名空间 default 中没有任务 nobody。")


@pytest.mark.parametrize("words", [["scale", "x", "--workers", "2"], ["wait", "x"], ["suspend", "x"]], ids=" ".join)
def test_ctrl_c_ends_a_command_whose_server_hangs(tide: Tide, words: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.getsockname()[1]}"}}
        contexts = [{"name": "a", "context": {"cluster": "c"}}]
        kubeconfig = {"current-context": "a", "contexts": contexts, "clusters": [cluster]}
        (tide.home / "hanging").write_text(json.dumps(kubeconfig))
        with tide.start(words[0], "--kubeconfig", "hanging", *words[1:]) as process:
            connection, _ = server.accept()
            with connection:
                assert connection.recv(1)  # the request; it is never answered
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in out + err
