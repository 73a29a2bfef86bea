# SPDX-License-Identifier: Apache-2.0
"""What `tide` and `arena` say to bad input: a table of commands, each with its message and its exit code.

On an embedded cluster with one job that runs, one that has finished, and one of et-operator's kind.
"""

from __future__ import annotations

import datetime
import signal
import socket
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import pytest
import yaml
from tests import terminal
from tests.integration.cli.conftest import Finished, Tide, in_home

from springtide.local.access.pki import Authority, Subject

JOBS: Final = """
apiVersion: kubeflow.org/v1
kind: MPIJob
metadata: {name: bert}
spec:
  launcherAttachMode: kubexec
  mpiReplicaSpecs:
    Launcher:
      template:
        spec: &forever {containers: [{name: main, image: python, command: [sh, -c, "echo begun; sleep 9999"]}]}
    Worker: {replicas: 1, template: {spec: *forever}}
---
apiVersion: kubeflow.org/v1
kind: MPIJob
metadata: {name: done}
spec:
  mpiReplicaSpecs:
    Launcher: {template: {spec: {containers: [{name: main, image: python, command: ["true"]}]}}}
    Worker: {replicas: 1, template: {spec: {containers: [{name: main, image: python, command: [sleep, "9999"]}]}}}
---
apiVersion: kai.alibabacloud.com/v1alpha1
kind: TrainingJob
metadata: {name: elastic}
spec:
  launcherAttachMode: kubexec
  etReplicaSpecs:
    launcher:
      template:
        spec: {containers: [{name: main, image: python, command: [sh, -c, "echo begun; sleep 9999"]}]}
    worker:
      replicas: 1
      minReplicas: 1
      maxReplicas: 3
      template: {spec: {containers: [{name: main, image: python}]}}
"""
UNKNOWN: Final = "There is no job nope in namespace default."
PATIENCE: Final = {"TIDE_REQUEST_TIMEOUT": "2"}


class Case(NamedTuple):
    words: str
    code: int
    said: tuple[str, ...]


def case(words: str, code: int, *said: str) -> Any:
    return pytest.param(Case(words, code, said), id=words)


class User(Tide):
    """With both programs, in a directory with manifests and a program."""

    def arena(self, *args: str) -> Finished:
        command = [sys.executable, "-m", "springtide.cli.arena", *args]
        finished = subprocess.run(
            command, env=self.environment, cwd=self.home, capture_output=True, text=True, timeout=150
        )
        assert "Traceback" not in finished.stdout + finished.stderr
        return finished

    def with_variables(self, variables: dict[str, str]) -> User:
        mine = {name: value for name, value in self.environment.items() if name != "PATH"}
        return User(self.home, [sys.executable, "-m", "springtide.cli"], {**mine, **variables})


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    home = tmp_path_factory.mktemp("bad") / "home"
    home.mkdir()
    with in_home(home):
        user = User(home, [sys.executable, "-m", "springtide.cli"], {})
        user.ok("up", "-d", "--node", "node-a=cpu:4")
        (home / "jobs.yaml").write_text(JOBS)
        (home / "train.py").write_text("print('trained')\n")
        (home / "broken.yaml").write_text("{ no: [manifest")
        (home / "no-object.yaml").write_text("- kind: MPIJob\n")
        (home / "quantity.yaml").write_text(_with_quantity("lots"))
        (home / "odd-kind.yaml").write_text("apiVersion: example.com/v1\nkind: Odd\nmetadata: {name: odd}\n")
        assert user.run("submit", "-f", "jobs.yaml").returncode == 0
        assert user.run("wait", "done", "--timeout", "2m").returncode == 0
        _until_running(user, "bert", "elastic")
        yield user


def _with_quantity(amount: str) -> str:
    job = next(iter(yaml.safe_load_all(JOBS)))
    job["metadata"]["name"] = "quantity"
    job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["resources"] = {
        "requests": {"memory": amount}
    }
    return yaml.safe_dump(job)


def _until_running(user: User, *names: str) -> None:
    deadline = time.monotonic() + 90
    while states := [user.ok("get", name, "-o", "jsonpath={.state}").strip() for name in names]:
        if states == ["Running"] * len(names):
            return
        assert time.monotonic() < deadline, states
        time.sleep(0.5)


# What `tide` says


@pytest.mark.parametrize(
    "wrong",
    [
        *(
            case(words, 5, UNKNOWN, "hint: the jobs there: bert, done, elastic")
            for words in (
                "get nope",
                "logs nope",
                "attach nope -- true",
                "explain nope",
                "wait nope",
                "scale nope --workers 2",
                "scaleout nope",
                "scalein nope",
                "suspend nope",
                "resume nope",
                "restart nope --yes",
                "clone nope copy",
                "delete nope",
                "tensorboard nope",
            )
        ),
        case("get brt", 5, "There is no job brt in namespace default.", "hint: did you mean bert?"),
        case("get bert -n nowhere", 5, "There is no job bert in namespace nowhere.", "tide list -A"),
        case("get bert -T tfjob", 5, "There is no job bert in namespace default."),
        case("get bert -T nonsense", 2, "There is no type of jobs nonsense.", "hint: types are: etjob, mpijob"),
        case("list -T nonsense", 2, "There is no type of jobs nonsense."),
        case("logs bert -i nope", 5, "Job bert has no pod nope", "hint: its pods: bert-launcher"),
        case("attach bert -i nope -- true", 5, "Job bert has no pod nope", "bert-worker-0"),
        case("scale elastic --workers 9", 1, "Job elastic cannot have 9 workers.", "1 to 3", "--workers 3"),
        case("scale elastic --workers +9", 1, "Job elastic cannot have 10 workers."),
        case("scale elastic --workers 0", 1, "Job elastic cannot have 0 workers."),
        case("scale elastic --workers many", 2, "many is no number of workers.", "hint: write a number"),
        case("scaleout elastic --count 0", 2, "0 is not in the range x>=1"),
        case("scalein elastic --pod-names bert-worker-0", 1, "Job elastic cannot have 0 workers."),
        case("scale done --workers 2", 1, "Job done cannot be resized.", "it has finished: Succeeded"),
        case("suspend done", 1, "Job done cannot be suspended.", "tide restart done"),
        case("clone bert done", 1, "MPIJob done exists already.", "give yours another name"),
        case("clone bert B_d", 2, "B_d cannot be the name of a job.", "lower case"),
        case("clone elastic copy --workers 9", 2, "Job copy cannot have 9 workers.", "1 to 3"),
        case("submit -f jobs.yaml", 1, "MPIJob bert exists already.", "tide diff -f FILE"),
        case("submit -f nowhere.yaml", 2, "nowhere.yaml cannot be read.", "No such file"),
        case("submit -f broken.yaml", 2, "broken.yaml is neither YAML nor JSON."),
        case("submit -f no-object.yaml", 2, "A document in no-object.yaml is no object."),
        case("submit -f quantity.yaml", 1, "MPIJob quantity is not valid.", "requests[memory]", "lots"),
        case("submit -f odd-kind.yaml", 1, "Odd"),
        case("diff -f nowhere.yaml", 2, "nowhere.yaml cannot be read."),
        case("run --name bert -- python train.py", 1, "MPIJob bert exists already.", "tide delete bert"),
        case("run --name B_d -- python train.py", 2, "B_d cannot be the name of a job."),
        case("run --memory lots -- python train.py", 1, "is not valid.", 'Invalid value: "lots"'),
        case("run --min 5 --max 2 -- python train.py", 2, "hint: choose --min ≤ --workers ≤ --max"),
        case("run -- python missing.py", 2, "There is no missing.py", "hint: the programs there: train.py"),
        case("run --environment nope -- python train.py", 5, "There is no environment nope.", "tide env create nope"),
        case("restart bert", 2, "there is no terminal to ask at", "hint: agree with --yes"),
        case("wait bert --timeout 1s", 6, "Job bert has not finished in time.", "tide explain bert"),
        case("wait bert --timeout soon", 2, "'soon' is no span of time"),
        case("logs bert --since soon", 2, "'soon' is no span of time"),
        case("logs bert --grep [", 2, "is no regular expression"),
        case("logs bert -f --previous", 2, "exclude each other"),
        case("list -o nonsense", 2, "'nonsense' is none of wide|json|yaml|name"),
        case("list -o jsonpath={", 2, "a brace is not closed"),
        case("get", 2, "Missing argument 'JOB'"),
        case("lst", 2, "No such command 'lst'", "'list'"),
        case("resize bert", 2, "Did you mean 'scale'?"),
        case("list --nope", 2, "No such option '--nope'"),
        case("delete", 2, "Nothing is named that is to be deleted.", "tide delete JOB", "tide delete --cluster"),
        case("delete --cluster bert", 2, "bert is about jobs, and --cluster is not."),
        case("prune", 2, "Missing option '--since'"),
        case("submit", 2, "Nothing is named that is to be submitted.", "tide submit -f FILE"),
        case("submit jobs.yaml", 2, "jobs.yaml is no type of jobs.", "tide submit -f jobs.yaml"),
        case("submit etjob --name a", 2, "The command is missing that the job is to run."),
        case("submit etjob --name a true", 2, "--image is not valid", "it is missing", "add --image"),
        case("submit etjob --name a --image b --memory lots true", 2, "'lots' does not have the form QUANTITY"),
        case("submit etjob --name a --image b --env A true", 2, "'A' does not have the form KEY=VALUE"),
        case("submit etjob --name a --image b --workers 9 --max-workers 3 true", 2, "9 is more than 3"),
        case("submit etjob --name B_d --image b true", 2, "'B_d' cannot be part of the names of pods", "lower-case"),
        case("submit mpijob --name bert --image b true", 1, "The job bert exists.", "tide delete bert"),
        case("tensorboard bert", 5, "The job bert has no TensorBoard."),
        case("list --kubeconfig nope", 1, "There is no cluster to use.", "nope", "hint: "),
        case("list --context nope", 1, "There is no cluster to use."),
    ],
)
def test_tide_says_what_is_wrong_and_exits_with_its_code(user: User, wrong: Case) -> None:
    finished = user.run(*wrong.words.split())
    assert (finished.returncode, [each for each in wrong.said if each not in finished.stderr]) == (wrong.code, []), (
        finished
    )
    assert not finished.stdout


@pytest.mark.parametrize("words", ["get nope", "scale elastic --workers 9", "submit -f broken.yaml", "restart bert"])
def test_the_message_has_no_english_label_in_chinese(user: User, words: str) -> None:
    finished = user.run("--lang", "zh", *words.split())
    assert finished.stderr.startswith("错误：")
    assert not [line for line in finished.stderr.splitlines() if line.startswith(("error:", "cause:", "hint:"))]


# What `arena` says


@pytest.mark.parametrize(
    "wrong",
    [
        *(
            case(words, 1, "Not found training job nope in namespace default,please use 'arena submit' to create it.")
            for words in ("get nope", "logs nope", "attach nope", "top job nope", "scaleout etjob --name=nope")
        ),
        case("get bert -T nonsense", 1, "unsupport job type,arena only supports:"),
        case("list -o nonsense", 1, "unknown output format,only support:[wide|json|yaml]"),
        case("lst", 1, 'unknown command \\"lst\\" for \\"arena\\"', "Did you mean this?", "list"),
        case("list --nope", 1, "unknown flag: --nope"),
        case("scaleout etjob", 1, 'required flag(s) \\"name\\" not set'),
        case("scaleout etjob --name=elastic --count=9", 1, "exceeds the max-workers"),
        case("scalein etjob --name=elastic --count=9", 1, "is less than the min-workers"),
        case("scalein etjob --name=elastic --count=1 --timeout=soon", 1, "invalid argument", "--timeout"),
        case("submit etjob --name=a true", 1, "--image must be set"),
        case("submit etjob --name=a --image=b", 1, "not found command args"),
        case("submit etjob --name=a --image=b --workers=x true", 1, "invalid argument", "--workers"),
        case("submit etjob --name=a --image=b --workers=9 --max-workers=3 true", 1, "--workers", "3"),
        case("submit etjob --name=B_d --image=b true", 1, "the job name must consist of lower case"),
        case("submit etjob --name=a --image=b --memory=lots true", 1, "--memory is invalid"),
        case("submit tfjob --name=a --image=b --worker-memory=lots true", 1, "--worker-memory is invalid"),
        case("submit etjob --name=a --image=b --data=x true", 1, "x has incorrect format"),
        case("submit etjob --name=a --image=b --priority=x true", 1, "the priority x doesn't exist"),
        case("submit etjob --name=a --image=b --sync-mode=hdfs true", 1, "hdfs", "git or rsync"),
        case("submit mpijob --name=bert --image=b true", 1, "the job bert is already exist, please delete it first."),
        case("cron list", 1, "arena cron is not part of Springtide", "CronJob"),
        case("serve list", 1, "arena serve is not part of Springtide", "KServe"),
        case("prune", 1, "--since"),
        case("logs bert -i nope", 1, "invalid instance name nope in job bert"),
        case("logs bert --since soon", 1, "failed to parse since seconds"),
        case("list --config nope", 1, "There is no cluster to use", "--config FILE"),
    ],
)
def test_arena_says_what_is_wrong_and_exits_with_1(user: User, wrong: Case) -> None:
    finished = user.arena(*wrong.words.split())
    missing = [each for each in wrong.said if each not in finished.stderr]
    assert (finished.returncode, missing) == (wrong.code, []), finished
    assert finished.stderr.count("level=error") == 1


def test_arena_skips_jobs_that_do_not_exist_when_it_deletes(user: User) -> None:
    finished = user.arena("delete", "nope")
    assert finished.returncode == 0
    assert "does not exist,skip to delete it" in finished.stderr


def test_nothing_of_all_this_has_changed_anything(user: User) -> None:
    assert sorted(user.ok("list", "-o", "custom-columns=NAME:.name").split()) == ["NAME", "bert", "done", "elastic"]
    assert user.ok("get", "elastic", "-o", "jsonpath={.size}").strip() == "1"


# Clusters that cannot be used


class Silent(NamedTuple):
    """A server that accepts connections and never answers."""

    port: int


@contextmanager
def silent() -> Iterator[Silent]:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield Silent(listener.getsockname()[1])


def kubeconfig(user: User, file: str, *, server: str = "", user_entry: dict[str, Any] | None = None) -> str:
    """The cluster's own, with another server or other credentials."""
    found = yaml.safe_load(user.place().kubeconfig.read_text())
    if server:
        found["clusters"][0]["cluster"]["server"] = server
    if user_entry is not None:
        found["users"][0]["user"] = user_entry
    path = user.home / file
    path.write_text(yaml.safe_dump(found))
    return str(path)


def certificate(user: User, name: str, *, born: datetime.timedelta) -> dict[str, str]:
    """Of a user of the cluster without rights; `born` is its age."""
    authority = Authority(user.place().path / "pki", datetime.datetime.now(datetime.UTC) - born)
    pair = authority.pair(f"test-{name}", Subject(name))
    return {
        "client-certificate-data": b64encode(pair.certificate).decode(),
        "client-key-data": b64encode(pair.key).decode(),
    }


EVERY_WAY: Final = ("list", "get bert", "explain bert", "logs bert", "scale bert --workers 2", "submit -f jobs.yaml")


@pytest.mark.parametrize("words", EVERY_WAY)
def test_a_server_that_hangs_ends_tide_with_a_time_out(user: User, words: str) -> None:
    with silent() as server:
        file = kubeconfig(user, "silent", server=f"https://127.0.0.1:{server.port}")
        finished = user.with_variables(PATIENCE | {"KUBECONFIG": file}).run(*words.split())
    assert finished.returncode == 6
    assert "error: The cluster has not answered in time." in finished.stderr
    assert "hint: is it overloaded? Wait longer with: TIDE_REQUEST_TIMEOUT=300" in finished.stderr


@pytest.mark.parametrize("words", ["list", "get bert", "logs bert", "submit mpijob --name=a --image=b true"])
def test_a_server_that_hangs_ends_arena_with_an_error(user: User, words: str) -> None:
    with silent() as server:
        file = kubeconfig(user, "silent", server=f"https://127.0.0.1:{server.port}")
        finished = user.with_variables(PATIENCE | {"KUBECONFIG": file}).arena(*words.split())
    assert finished.returncode == 1
    assert "The cluster has not answered in time" in finished.stderr


def _unusable(user: User, how: str) -> str:
    """The kubeconfig."""
    if how == "stopped":
        with silent() as server:
            return kubeconfig(user, how, server=f"https://127.0.0.1:{server.port}")
    entries = {
        "expired": lambda: certificate(user, "late", born=datetime.timedelta(days=9000)),
        "wrong-token": lambda: {"token": "nonsense"},
        "no-rights": lambda: certificate(user, "nobody", born=datetime.timedelta()),
    }
    return kubeconfig(user, how, user_entry=entries[how]())


@pytest.mark.parametrize("words", EVERY_WAY)
@pytest.mark.parametrize(
    ("how", "code", "what"),
    [
        ("stopped", 1, "error: The cluster does not answer."),
        ("expired", 4, "error: Your certificate for this cluster has expired."),
        ("wrong-token", 4, "error: The cluster does not know you."),
        ("no-rights", 4, "error: You may not do this."),
    ],
)
def test_a_cluster_that_cannot_be_used_is_explained(user: User, how: str, code: int, what: str, words: str) -> None:
    finished = user.with_variables({"KUBECONFIG": _unusable(user, how)}).run(*words.split())
    assert finished.returncode == code, finished
    assert what in finished.stderr
    assert "hint: " in finished.stderr


@pytest.mark.parametrize(
    ("how", "what"),
    [
        ("stopped", "The cluster does not answer"),
        ("wrong-token", "The cluster does not know you"),
        ("no-rights", "You may not do this"),
    ],
)
def test_arena_says_it_in_a_line(user: User, how: str, what: str) -> None:
    finished = user.with_variables({"KUBECONFIG": _unusable(user, how)}).arena("list")
    assert finished.returncode == 1
    assert what in finished.stderr
    assert len(finished.stderr.splitlines()) == 1


# Ctrl-C


@pytest.mark.parametrize(
    ("words", "printed", "code"),
    [
        ("tide logs bert -f", "begun", 130),
        ("tide list -w", "STATE", 130),
        ("tide get bert -w", "Running", 130),
        ("tide wait bert", "Running", 101),
        ("arena logs elastic -f", "begun", 130),
        ("arena top job elastic -r", "Instances", 130),
    ],
)
def test_ctrl_c_ends_what_goes_on(user: User, words: str, printed: str, code: int) -> None:
    program, *rest = words.split()
    module = "springtide.cli.arena" if program == "arena" else "springtide.cli"
    with terminal.bash(user.environment, user.home) as shell:
        begin = len(shell.shown)
        shell.type(f"{sys.executable} -m {module} {' '.join(rest)}; echo status=$?\n")
        shell.wait_for(printed, begin)
        shell.type("\x03")
        said = shell.wait_for(r"status=\d+\r\n", begin)
    assert f"status={code}" in said
    assert "Traceback" not in said


def test_a_deletion_that_is_not_agreed_to_deletes_nothing(user: User) -> None:
    with terminal.bash(user.environment, user.home) as shell:
        for keys, status in (("\x03", 130), ("n\n", 103), ("\x04", 103)):
            begin = len(shell.shown)
            shell.type(f"{sys.executable} -m springtide.cli delete bert; echo status=$?\n")
            shell.wait_for(r"\[y/N\] \Z", begin)
            shell.type(keys)
            shell.wait_for(rf"status={status}\r\n", begin)
    assert user.ok("get", "bert", "-o", "jsonpath={.state}").strip() == "Running"


def test_a_terminated_command_ends_at_once(user: User) -> None:
    with user.start("wait", "bert") as process:
        assert process.stderr is not None
        assert "Running" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
