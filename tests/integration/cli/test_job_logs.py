# SPDX-License-Identifier: Apache-2.0
"""`tide logs` and `tide attach` on an embedded cluster: pods that end, restart, come and are removed meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from tests.integration.cli.conftest import Finished, Tide, in_home
from tests.integration.patience import until
from tests.terminal import bash

from springtide.cli.jobs import finding
from springtide.cli.jobs.instances import NoInstances, NoSuchInstance
from springtide.cli.jobs.logs import one_log
from springtide.kube import logs
from springtide.kube.client import Client
from springtide.kube.errors import Unreachable
from springtide.kube.logs import LogOptions
from springtide.kube.resources import PODS, Key, Obj, Resource

PYTORCH = Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob")
TRAINING = Resource("kai.alibabacloud.com", "v1alpha1", "trainingjobs", "TrainingJob")
PATIENCE = 60.0


@pytest.fixture(scope="module")
def tide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tide]:
    with in_home(tmp_path_factory.mktemp("home")) as tide:
        tide.ok("up", "-d", "--port", "0", "--isolation", "none")
        tide.environment["KUBECONFIG"] = str(tide.place().kubeconfig)
        yield tide


class Jobs:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def create(self, name: str, script: str, **spec: Any) -> None:
        """A PyTorchJob of one master, or of workers alone, which run a shell script."""
        container = {"name": "pytorch", "image": "python", "command": ["sh", "-c", script]}
        pod: Obj = {"containers": [container], "terminationGracePeriodSeconds": 1}
        if node := spec.pop("on", ""):
            pod["nodeSelector"] = {"kubernetes.io/hostname": node}
        replica = {"replicas": 1, "restartPolicy": spec.pop("restart", "OnFailure"), "template": {"spec": pod}}
        policy = {"cleanPodPolicy": spec.pop("clean", "None")}
        roles = (
            {"Worker": replica | {"replicas": workers}} if (workers := spec.pop("workers", 0)) else {"Master": replica}
        )
        job = PYTORCH.describe(Key("default", name)) | {"spec": {"runPolicy": policy, "pytorchReplicaSpecs": roles}}
        await self.client.create(PYTORCH, job)

    async def pod(self, name: str) -> Obj | None:
        return await self.client.find(PODS, Key("default", name))

    async def until_phase(self, name: str, phase: str) -> None:
        def reached(pod: Obj | None) -> bool:
            return pod is not None and pod.get("status", {}).get("phase") == phase

        await until(lambda: self.pod(name), reached, PATIENCE)

    async def until_gone(self, name: str) -> None:
        await until(lambda: self.pod(name), lambda pod: pod is None, PATIENCE)

    async def until_finished(self, name: str) -> None:
        def finished(job: Obj) -> bool:
            found = {each["type"]: each["status"] for each in (job.get("status") or {}).get("conditions") or ()}
            return "True" in (found.get("Succeeded"), found.get("Failed"))

        await until(lambda: self.client.get(PYTORCH, Key("default", name)), finished, PATIENCE)


@pytest.fixture
async def jobs(tide: Tide) -> AsyncIterator[Jobs]:
    async with await Client.connect(str(tide.place().kubeconfig)) as client:
        yield Jobs(client)


async def run(tide: Tide, *arguments: str) -> Finished:
    return await asyncio.to_thread(tide.run, *arguments)


async def shown(tide: Tide, *arguments: str) -> list[str]:
    finished = await run(tide, "logs", *arguments)
    assert finished.returncode == 0, finished
    return finished.stdout.splitlines()


async def logged(tide: Tide, accept: Callable[[list[str]], bool], *arguments: str) -> list[str]:
    """The log once it is accepted."""

    async def ask() -> list[str]:
        return (await run(tide, "logs", *arguments)).stdout.splitlines()

    return await until(ask, accept, PATIENCE)


async def test_logs_of_a_job_whose_pods_were_cleaned_up_stay_readable(tide: Tide, jobs: Jobs) -> None:
    await jobs.create("clean", "echo one; echo two >&2; exit 1", restart="Never", clean="All")
    await jobs.until_finished("clean")
    await jobs.until_gone("clean-master-0")
    assert await logged(tide, lambda lines: len(lines) == 2, "clean") == ["one", "two"]
    assert await shown(tide, "clean", "--rank", "0", "--tail", "1") == ["two"]
    assert await shown(tide, "clean", "-i", "clean-master-0", "--grep", "o.e") == ["one"]
    await jobs.client.delete(PYTORCH, Key("default", "clean"))
    await until(lambda: jobs.client.find(PYTORCH, Key("default", "clean")), lambda job: job is None, PATIENCE)
    finished = await run(tide, "logs", "clean")
    assert finished.stdout == "one\ntwo\n"
    assert finished.stderr == "Job clean was deleted; these are its logs that were kept.\n"
    finished = await run(tide, "--lang", "zh", "logs", "clean")
    assert finished.stderr == "任务 clean 已被删除；以下是保留下来的日志。\n"


async def test_one_log_is_that_of_the_chief_also_after_its_removal(tide: Tide, jobs: Jobs) -> None:
    await jobs.create("single", "printf 'one\\ntwo'; exit 1", restart="Never", clean="All")
    await jobs.until_finished("single")
    await jobs.until_gone("single-master-0")
    async with await Client.connect(str(tide.place().kubeconfig)) as client:
        job = await finding.find(client, "default", "single")

        async def read() -> bytes:
            written: list[bytes] = []
            with contextlib.suppress(NoInstances):  # its log is about to be kept
                await one_log.show(client, job, "", LogOptions(tail=10), written.append)
            return b"".join(written)

        assert await until(read, bool, PATIENCE) == b"one\ntwo"
        with pytest.raises(NoSuchInstance):
            await one_log.show(client, job, "other", LogOptions(), print)


async def test_a_followed_log_goes_on_after_a_restart_and_ends_with_the_job(tide: Tide, jobs: Jobs) -> None:
    seen, marker = tide.home / "seen", tide.home / "restarted"
    first = f"echo first; touch {marker}; while [ ! -e {seen} ]; do sleep 0.1; done; exit 3"
    await jobs.create("again", f"if [ -e {marker} ]; then echo second; else {first}; fi")
    await jobs.until_phase("again-master-0", "Running")
    with tide.start("logs", "again", "-f") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "[master-0] first\n"
        seen.touch()
        assert await asyncio.to_thread(process.stdout.read) == "[master-0] second\n"
        assert process.wait(PATIENCE) == 0
    assert await shown(tide, "again") == ["second"]
    assert await shown(tide, "again", "--previous") == ["first"]
    assert await shown(tide, "again", "--rank", "0", "-f") == ["second"]


async def test_lines_of_all_pods_are_merged_by_time(tide: Tide, jobs: Jobs) -> None:
    script = "for i in 0 1 2 3 4 5 6 7 8 9; do echo line $i; sleep 0.15; done; sleep 2"
    await jobs.create("many", script, workers=3)
    lines = await shown(tide, "many", "-f", "--timestamps", "--grep", "line")
    labels = {line.split()[0] for line in lines}
    assert labels == {"[worker-0]", "[worker-1]", "[worker-2]"}
    assert len(lines) == 30
    stamps = [line.split()[1] for line in await shown(tide, "many", "--timestamps", "--grep", "line")]
    assert stamps == sorted(stamps)
    assert await shown(tide, "many", "--rank", "2") == [f"line {number}" for number in range(10)]
    tails = await shown(tide, "many", "--grep", "line [3-5]", "--tail", "1")
    assert sorted(tails) == [f"[{label}] line 5" for label in ("worker-0", "worker-1", "worker-2")]


async def test_new_workers_join_and_removed_ones_stay_readable(tide: Tide, jobs: Jobs) -> None:
    def role(script: str, count: int) -> dict[str, Any]:
        container = {"name": "main", "image": "python", "command": ["sh", "-c", script]}
        return {"replicas": count, "template": {"spec": {"containers": [container]}}}

    done = tide.home / "done"
    launcher = role(
        f"echo '[0]<stdout>:loss 1'; echo '[1]<stdout>:loss 2'; while [ ! -e {done} ]; do sleep 0.2; done", 1
    )
    worker = role("echo hello from $HOSTNAME; sleep 1000", 1)
    spec = {"etReplicaSpecs": {"launcher": launcher, "worker": worker | {"minReplicas": 1, "maxReplicas": 4}}}
    await jobs.client.create(TRAINING, TRAINING.describe(Key("default", "grow")) | {"spec": spec})
    await jobs.until_phase("grow-launcher", "Running")
    assert tide.place().kubeconfig
    with tide.start("logs", "grow", "-f") as process:
        assert process.stdout is not None
        lines: list[str] = []

        def read_until(wanted: str) -> None:
            assert process.stdout is not None
            while not lines or wanted not in lines[-1]:
                line = process.stdout.readline()
                assert line, lines
                lines.append(line.rstrip())

        await asyncio.to_thread(read_until, "[worker-0] hello")
        scale: Obj = {"apiVersion": "kai.alibabacloud.com/v1alpha1", "kind": "ScaleOut"}
        scaler = Resource("kai.alibabacloud.com", "v1alpha1", "scaleouts", "ScaleOut")
        more = scale | {"metadata": {"name": "more", "namespace": "default"}}
        more |= {"spec": {"selector": {"name": "grow"}, "toAdd": {"count": 1}}}
        await jobs.client.create(scaler, more)
        await asyncio.to_thread(read_until, "[worker-1] hello")
        less: Obj = {"apiVersion": "kai.alibabacloud.com/v1alpha1", "kind": "ScaleIn"}
        less |= {"metadata": {"name": "less", "namespace": "default"}}
        less |= {"spec": {"selector": {"name": "grow"}, "toDelete": {"podNames": ["grow-worker-1"]}}}
        await jobs.client.create(Resource("kai.alibabacloud.com", "v1alpha1", "scaleins", "ScaleIn"), less)
        await jobs.until_gone("grow-worker-1")
        assert any("worker-1" in line for line in await logged(tide, lambda found: bool(found), "grow"))
        await logged(tide, lambda found: found == ["hello from grow-worker-1"], "grow", "-i", "grow-worker-1")
        done.touch()
        await asyncio.to_thread(process.stdout.read)
    assert process.returncode == 0, lines
    assert await shown(tide, "grow", "--rank", "1") == ["[1]<stdout>:loss 2"]


async def test_logs_of_a_reclaimed_node_stay_readable(tide: Tide, jobs: Jobs) -> None:
    await asyncio.to_thread(tide.ok, "node", "add", "spot=cpu:2,spot")
    await jobs.create("moved", "echo on $HOSTNAME; sleep 1000", on="spot")
    await jobs.until_phase("moved-master-0", "Running")
    await logged(tide, lambda lines: lines == ["on moved-master-0"], "moved")
    await run(tide, "node", "reclaim", "spot", "--notice", "0s")
    await logged(tide, lambda lines: lines == ["on moved-master-0"], "moved", "--grep", "on")
    [item] = await logs.kept(jobs.client, "default", "training.kubeflow.org/job-name=moved")
    assert (item["pod"], item["node"]) == ("moved-master-0", "spot")


async def test_a_followed_log_survives_the_servers_death(tide: Tide, jobs: Jobs) -> None:
    stop = tide.home / "stop"
    script = f"i=0; while [ ! -e {stop} ]; do i=$((i+1)); echo line $i; sleep 0.05; done; echo last"
    await jobs.create("long", script)
    await jobs.until_phase("long-master-0", "Running")
    with tide.start("logs", "long", "-f") as process:
        assert process.stdout is not None
        head = [process.stdout.readline() for _ in range(10)]
        server = tide.place().server_process()
        assert server is not None
        os.kill(server, signal.SIGKILL)

        async def answers() -> bool:
            try:
                return await jobs.pod("long-master-0") is not None
            except Unreachable:
                return False

        await until(answers, bool, PATIENCE)
        await asyncio.sleep(2)  # so that it goes on after the interruption
        stop.touch()
        rest = await asyncio.to_thread(process.stdout.read)
    assert process.returncode == 0
    lines = [*(line.rstrip() for line in head), *rest.splitlines()]
    assert lines[-1] == "[master-0] last"
    numbers = [int(line.rsplit(" ", 1)[1]) for line in lines[:-1]]
    assert numbers == list(range(1, len(numbers) + 1))  # none is lost, none is there twice


async def test_a_line_without_an_end_takes_little_memory(tide: Tide, jobs: Jobs) -> None:
    script = "import sys\nfor _ in range(48): sys.stdout.write('x' * (1 << 20))"
    await jobs.create("wide", f'exec python -c "{script}"')
    await jobs.until_finished("wide")
    sink = tide.home / "wide.log"
    # A process of its own: the kernel counts the memory of this one, up to the exec, as its child's.
    measure = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=open('wide.log', 'wb'), check=True)"
    )
    measure += "; print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    words = [sys.executable, "-c", measure, sys.executable, "-m", "springtide.cli", "logs", "wide"]
    measured = await asyncio.to_thread(subprocess.check_output, words, env=tide.environment, cwd=tide.home)
    assert sink.stat().st_size > 30 << 20
    assert int(measured) < 90 << 10


async def test_a_job_without_logs_says_why(tide: Tide, jobs: Jobs) -> None:
    container = {"name": "pytorch", "image": "python", "resources": {"limits": {"nvidia.com/gpu": 99}}}
    replica = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    spec = {"pytorchReplicaSpecs": {"Master": replica}}
    await jobs.client.create(PYTORCH, PYTORCH.describe(Key("default", "stuck")) | {"spec": spec})
    await until(lambda: jobs.pod("stuck-master-0"), lambda pod: pod is not None, PATIENCE)

    async def ask() -> Finished:
        return await run(tide, "logs", "stuck")

    finished = await until(ask, lambda found: "Unschedulable" in found.stderr, PATIENCE)
    assert finished.returncode == 5
    assert finished.stderr == (
        "stuck-master-0 has no log yet: Unschedulable\n"
        "error: Job stuck has no logs yet.\n"
        "hint: see why with: tide explain stuck -n default\n"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing"], 5, "error: There is no job nothing in namespace default."),
        (["shell", "-i", "other"], 5, "error: Job shell has no pod other with a log.\nhint: its pods: shell-master-0"),
        (["shell", "-c", "other"], 5, "error: Job shell has no container other.\nhint: its containers: pytorch"),
        (["shell", "--rank", "7"], 5, "error: Job shell has no rank 7 with a log."),
    ],
)
async def test_wrong_names_are_explained(
    tide: Tide, shell: None, arguments: list[str], code: int, message: str
) -> None:
    finished = await run(tide, "logs", *arguments)
    assert finished.returncode == code
    assert message in finished.stderr


@pytest.fixture
async def shell(jobs: Jobs) -> None:
    """A job that runs for as long as the tests do, and writes a line every tenth of a second."""
    if await jobs.pod("shell-master-0") is None:
        await jobs.create("shell", "while true; do echo tick; sleep 0.1; done")
    await jobs.until_phase("shell-master-0", "Running")


async def test_a_reader_that_has_seen_enough_ends_it_quietly(tide: Tide, shell: None) -> None:
    with tide.start("logs", "shell", "-f") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "[master-0] tick\n"
        process.stdout.close()
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


async def test_ctrl_c_ends_it_without_a_word(tide: Tide, shell: None) -> None:
    with tide.start("logs", "shell", "-f") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, error = await asyncio.to_thread(process.communicate, timeout=PATIENCE)
    assert (process.returncode, error) == (130, "")


async def test_a_terminal_shows_colours_unless_they_are_unwanted(tide: Tide, shell: None) -> None:
    with bash({**tide.environment, "TERM": "xterm"}, tide.home) as terminal:
        terminal.type("export TERM=xterm\n")
        program = "python -m springtide.cli"
        _, out = await asyncio.to_thread(terminal.run, f"{program} logs shell -f --tail 1", "tick")
        assert re.search(r"\x1b\[\d+m\[master-0\]\x1b\[0m tick", out)
        _, out = await asyncio.to_thread(terminal.run, f"NO_COLOR=1 {program} logs shell -f --tail 1", "tick")
        assert "[master-0] tick" in out
        assert "\x1b[3" not in out.replace("\x1b[?", "")


# Commands


async def test_a_command_gets_its_input_and_ends_with_its_own_code(tide: Tide, shell: None) -> None:
    def attached(*command: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        program = ["python", "-m", "springtide.cli", "attach", "shell", *command]
        return subprocess.run(program, input=given, capture_output=True, env=tide.environment, timeout=PATIENCE)

    finished = await asyncio.to_thread(attached, "--", "cat", given=b"x" * 300_000 + b"\n")
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, b"x" * 300_000 + b"\n", b"")
    finished = await asyncio.to_thread(attached, "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (finished.returncode, finished.stdout, finished.stderr) == (7, b"out\n", b"err\n")
    finished = await asyncio.to_thread(attached, given=b"echo $((40 + 2))\n")
    assert (finished.returncode, finished.stdout) == (0, b"42\n")
    finished = await asyncio.to_thread(attached, "--", "no-such-program")
    assert finished.returncode == 1
    assert b"error: " in finished.stderr
    assert b"Traceback" not in finished.stderr


async def test_a_terminal_is_passed_on_with_its_size_and_keys(tide: Tide, shell: None) -> None:
    with bash(tide.environment, tide.home) as terminal:
        terminal.type("python -m springtide.cli attach shell -- sh\n")
        await asyncio.to_thread(terminal.wait_for, r"[$#] \Z")
        begin = len(terminal.shown)
        terminal.type("stty size; cat; echo not interrupted\n")
        await asyncio.to_thread(terminal.wait_for, r"^50 200\r\n", begin)
        begin = len(terminal.shown)
        terminal.type("\x03")
        out = await asyncio.to_thread(terminal.wait_for, r"[$#] \Z", begin)
        assert "not interrupted" not in out
        terminal.type("exit 5\n")
        await asyncio.to_thread(terminal.wait_for, r"ready> \Z", begin)
        terminal.type("echo status=$?\n")  # the terminal is as before
        await asyncio.to_thread(terminal.wait_for, r"^status=5\r\nready> \Z", begin)


async def test_a_completed_pod_is_refused(tide: Tide, jobs: Jobs) -> None:
    await jobs.create("over", "true")
    await jobs.until_finished("over")
    finished = await run(tide, "attach", "over")
    assert finished.returncode == 1
    assert finished.stderr == "error: Pod over-master-0 is not running: Completed\n"


def test_a_server_that_does_not_answer_is_explained(tide: Tide) -> None:
    path = tide.home / "unreachable"
    path.write_text(re.sub(r"https://127.0.0.1:\d+", "https://127.0.0.1:1", tide.place().kubeconfig.read_text()))
    finished = tide.run("logs", "shell", "--kubeconfig", str(path))
    assert finished.returncode == 1
    assert finished.stderr.startswith("error: The cluster does not answer.\n")
