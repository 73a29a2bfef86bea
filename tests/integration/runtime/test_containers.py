# SPDX-License-Identifier: Apache-2.0
"""How containers start, what they see of themselves, and how they end."""

from __future__ import annotations

import asyncio
import os
import resource
import signal

import pytest
from tests.integration.runtime.pods import Pods, bind, until, until_gone

from springtide.local.runtime.shim_client import ShimError


@pytest.mark.parametrize(
    ("text", "code", "number", "reason"),
    [
        ("exit 0", 0, 0, "Completed"),
        ("exit 3", 3, 0, "Error"),
        ("kill -9 $$", 137, 9, "Error"),
        ("kill -TERM $$", 143, 15, "Error"),
        ("exit 255", 255, 0, "Error"),
    ],
)
async def test_exit_codes_are_those_of_the_program(pods: Pods, text: str, code: int, number: int, reason: str) -> None:
    pod = await pods.make()
    await pod.script(text)
    state = await pod.ended()
    assert (state.exit_code, state.signal, state.reason) == (code, number, reason)
    assert 0 < state.started <= state.finished


async def test_a_program_gets_its_environment_and_nothing_else(pods: Pods) -> None:
    pod = await pods.make()
    await pod.start("/usr/bin/env", env={"PATH": "/usr/bin", "NAME": "a value\nof two lines", "ÜMLAUT": "ö"})
    assert (await pod.ended()).exit_code == 0
    assert pod.text() == "PATH=/usr/bin\nNAME=a value\nof two lines\nÜMLAUT=ö\n"


async def test_a_program_runs_under_the_uid_of_the_cluster_s_user(pods: Pods) -> None:
    pod = await pods.make()
    assert await pod.output("id -u; id -g") == f"{os.getuid()}\n{os.getgid()}\n"


async def test_a_missing_working_directory_is_made(pods: Pods) -> None:
    pod = await pods.make()
    assert await pod.output("pwd", cwd="/examples/mnist") == "/examples/mnist\n"


async def test_a_container_sees_its_own_processes_only(own_proc: None, pods: Pods) -> None:
    pod = await pods.make()
    assert (await pod.output("echo /proc/[0-9]*")).split() == ["/proc/1", "/proc/2"]


async def test_a_container_has_the_pod_s_hostname(pods: Pods) -> None:
    pod = await pods.make()
    assert await pod.output("uname -n") == f"{pod.body.hostname}\n"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("no-such-command",), 'exec: "no-such-command": executable file not found in $PATH'),
        (("/no/such",), 'exec: "/no/such": stat /no/such: no such file or directory'),
        (("/etc/passwd",), 'exec: "/etc/passwd": permission denied'),
        (("/tools/empty",), 'exec: "/tools/empty": exec format error'),
    ],
)
async def test_a_program_that_cannot_start_says_why(pods: Pods, argv: tuple[str, ...], message: str) -> None:
    pod = await pods.make()
    tools = pods.data / "tools"
    tools.mkdir()
    (tools / "empty").write_text("no program\n")
    (tools / "empty").chmod(0o755)
    with pytest.raises(ShimError, match="exec: ") as refusal:
        await pod.start(*argv, mounts=(bind(tools, "/tools"),))
    assert (refusal.value.reason, str(refusal.value)) == ("StartError", message)
    state = await pod.ended()
    assert (state.exit_code, state.reason, state.message) == (128, "StartError", message)
    assert await pod.output("echo well") == "well\n"  # the next attempt is not harmed


@pytest.mark.parametrize(
    ("argv", "has_cure"), [(("no-such-command",), True), (("/no/such",), True), (("/etc/passwd",), False)]
)
async def test_the_cure_is_named_for_a_program_that_is_not_there(
    pods: Pods, argv: tuple[str, ...], has_cure: bool
) -> None:
    pod = await pods.make()
    with pytest.raises(ShimError) as refusal:
        await pod.start(*argv, cure="make an environment that has it")
    assert str(refusal.value).endswith(": make an environment that has it") is has_cure


async def test_a_working_directory_that_cannot_be_entered_says_why(pods: Pods) -> None:
    pod = await pods.make()
    with pytest.raises(ShimError, match='cannot enter the working directory "/etc/passwd"'):
        await pod.script("true", cwd="/etc/passwd")


async def test_a_source_that_is_not_there_says_why(pods: Pods) -> None:
    pod = await pods.make()
    with pytest.raises(ShimError, match="no such file or directory"):
        await pod.script("true", mounts=(bind(pods.data / "nothing", "/nothing"),))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may always fork")
async def test_a_fork_that_fails_is_a_start_error_and_the_shim_goes_on(pods: Pods) -> None:
    pod = await pods.make()
    before = resource.prlimit(pod.shim.pid, resource.RLIMIT_NPROC)
    resource.prlimit(pod.shim.pid, resource.RLIMIT_NPROC, (0, before[1]))
    with pytest.raises(ShimError, match="resource temporarily unavailable") as refusal:
        await pod.script("true")
    assert refusal.value.reason == "StartError"
    resource.prlimit(pod.shim.pid, resource.RLIMIT_NPROC, before)
    assert await pod.output("echo well") == "well\n"


async def test_a_program_has_a_grace_to_end_in(pods: Pods) -> None:
    pod = await pods.make()
    await pod.script("trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.02; done")
    await pod.printed("up")
    await pod.shim.stop("main", 30)
    assert (await pod.ended()).exit_code == 7
    assert pod.text() == "up\nbye\n"


async def test_after_the_grace_everything_is_killed(pods: Pods) -> None:
    pod = await pods.make()
    mark = f"MARK={pod.body.uid}"
    await pod.script("trap '' TERM; setsid sleep 300 & setsid sleep 300 & echo up; wait", env={"MARK": pod.body.uid})
    await pod.printed("up")
    await pod.shim.stop("main", 0.1)
    state = await pod.ended()
    assert (state.exit_code, state.signal, state.reason) == (137, 9, "Error")
    await until_gone(mark)


async def test_a_second_stop_may_shorten_the_grace(pods: Pods) -> None:
    pod = await pods.make()
    await pod.script("trap '' TERM; echo up; while :; do sleep 0.02; done")
    await pod.printed("up")
    await pod.shim.stop("main", 3000)
    await pod.shim.stop("main", 0)
    assert (await pod.ended()).exit_code == 137


@pytest.mark.parametrize(("name", "number"), [("SIGHUP", 1), ("SIGINT", 2), ("SIGUSR1", 10), ("SIGRTMIN+3", 37)])
async def test_other_signals_reach_the_program(pods: Pods, name: str, number: int) -> None:
    pod = await pods.make()
    await pod.script(f"trap 'exit 9' {number}; echo up; while :; do sleep 0.02; done")
    await pod.printed("up")
    await pod.shim.stop("main", 30, name)
    assert (await pod.ended()).exit_code == 9


async def test_a_stop_that_comes_while_a_container_starts_is_not_lost(pods: Pods) -> None:
    pod = await pods.make()
    starting = asyncio.create_task(pod.script("sleep 300"))
    while not (await pod.shim.states() or starting.done()):
        await pod.shim.stop("main", 0.01)
    await asyncio.wait([starting])
    assert (await pod.ended()).exit_code in (143, 137, 128)


async def test_background_processes_end_with_the_program(pods: Pods) -> None:
    pod = await pods.make()
    await pod.script("setsid sleep 300 & exit 4", env={"MARK": pod.body.uid, "PATH": "/usr/bin:/bin"})
    assert (await pod.ended()).exit_code == 4
    await until_gone(f"MARK={pod.body.uid}")


async def test_orphans_are_reaped(own_proc: None, pods: Pods) -> None:
    pod = await pods.make()
    text = "(sleep 0.05 & ) ; (sleep 0.05 & ) ; sleep 0.3; cat /proc/[0-9]*/stat | grep -c ' Z ' || true"
    assert await pod.output(text) == "0\n"


async def test_an_attempt_that_is_asked_for_again_is_the_same_attempt(pods: Pods) -> None:
    """By the successor of an agent that was killed before it heard the answer."""
    pod = await pods.make()
    starting = asyncio.create_task(pod.script("echo once; sleep 300"))
    await until(lambda: (pod.directory / "containers" / "main" / "0.body.json").exists())
    await asyncio.gather(starting, pod.shim.start("main", 0))
    await pod.shim.start("main", 0)
    await pod.printed("once")
    assert pod.text() == "once\n"


async def test_a_running_container_is_not_started_twice(pods: Pods) -> None:
    pod = await pods.make()
    await pod.script("sleep 300")
    with pytest.raises(ShimError) as refusal:
        await pod.script("sleep 300")
    assert refusal.value.reason == "AlreadyRunning"


async def test_containers_of_a_pod_can_share_their_processes(own_proc: None, pods: Pods) -> None:
    pod = await pods.make(share_processes=True)
    await pod.script("echo up; exec sleep 54321", name="other", env={"MARK": pod.body.uid, "PATH": "/usr/bin:/bin"})
    await pod.printed("up", "other")
    assert "54321" in await pod.output("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    await pod.script("trap '' TERM; (setsid sleep 300 &); echo up; while :; do sleep 0.02; done")
    await pod.printed("up")
    await pod.shim.stop("main", 0.05)
    assert (await pod.ended()).exit_code == 137
    assert [state.status for state in await pod.shim.states() if state.name == "other"] == ["running"]
    assert "sleep 300" not in await pod.output("cat /proc/[0-9]*/cmdline | tr '\\0' ' '", name="third")
    os.kill(pod.shim.pid, signal.SIGKILL)
    await until_gone(f"MARK={pod.body.uid}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
async def test_root_can_run_a_program_as_somebody_else(pods: Pods) -> None:
    pod = await pods.make()
    text = "id -u; id -g; id -G; echo written > /dev/stdout"
    assert await pod.output(text, user=1234, group=2345, groups=(3456,)) == "1234\n2345\n2345 3456\nwritten\n"


async def test_states_are_on_disk_before_they_are_told(pods: Pods) -> None:
    pod = await pods.make()
    await pod.script("exit 5")
    state = await pod.ended()
    assert f'"exit_code":{state.exit_code}' in pod.state_file()
