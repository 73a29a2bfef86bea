# SPDX-License-Identifier: Apache-2.0
"""Commands run in a container, by the agent and by ticket; terminals; attaching."""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import struct
import termios
from contextlib import suppress

import pytest
from tests.integration.runtime.pods import Pod, Pods, bind, read_all, until, until_gone

from springtide.local.runtime.shim import json_lines, kernel, messages
from springtide.local.runtime.shim_client import ShimError

UP = "echo up; sleep 300"
TERMINAL = "tty; stty size; exec 3<>/dev/tty && echo controls; read line; echo got $line"


def read_terminal(master: int) -> str:
    """What was written to a terminal that nobody has open any more."""
    text = b""
    with suppress(OSError):
        while data := os.read(master, 4096):
            text += data
    os.close(master)
    return text.decode()


async def a_running_pod(pods: Pods, text: str = UP, **more: object) -> Pod:
    pod = await pods.make()
    await pod.script(text, **more)
    await pod.printed("up")
    return pod


async def test_output_and_exit_code(pods: Pods) -> None:
    pod = await a_running_pod(pods)
    assert await pod.run("sh", "-c", "echo out; echo err >&2; exit 42") == (42, "out\nerr\n")
    assert await pod.run("sh", "-c", "kill -9 $$") == (137, "")


async def test_a_command_sees_what_the_program_sees(own_proc: None, pods: Pods) -> None:
    volume = pods.data / "volume"
    volume.mkdir()
    (volume / "a").write_text("1\n")
    pod = await a_running_pod(pods, f"touch /root/seen; {UP}", mounts=(bind(volume, "/etc/mpi"),), cwd="/work-here")
    script = "cat /etc/mpi/a; ls /root; pwd; id -u; echo $HOME; cat /proc/1/comm; uname -n"
    seen = f"1\nseen\n/work-here\n{os.getuid()}\n/root\ntide-init\n{pod.body.hostname}\n"
    assert await pod.run("sh", "-c", script) == (0, seen)


async def test_a_command_may_have_an_environment_of_its_own(pods: Pods) -> None:
    pod = await a_running_pod(pods)
    assert await pod.run("/usr/bin/env", env={"ONE": "1"}) == (0, "ONE=1\n")


@pytest.mark.parametrize("name", ["no-such-command", "/no/such"])
async def test_a_missing_command(pods: Pods, name: str) -> None:
    pod = await a_running_pod(pods)
    with pytest.raises(ShimError, match=f'exec: "{name}": ') as refusal:
        await pod.run(name)
    assert refusal.value.reason == "StartError"


async def test_a_container_that_does_not_run(pods: Pods) -> None:
    pod = await pods.make()
    with pytest.raises(ShimError, match='container "main" is not running'):
        await pod.run("true")


async def test_a_command_outlives_whoever_asked_for_it(pods: Pods) -> None:
    pod = await a_running_pod(pods)
    null = os.open("/dev/null", os.O_RDWR)
    execution = await pod.shim.exec("main", ["sh", "-c", "sleep 0.2; echo done > /root/done"], [null] * 3)
    execution.close()
    os.close(null)
    code, _ = await pod.run("sh", "-c", "until test -e /root/done; do sleep 0.02; done")
    assert code == 0


async def test_a_command_ends_with_its_container(pods: Pods) -> None:
    pod = await a_running_pod(pods)
    null = os.open("/dev/null", os.O_RDWR)
    execution = await pod.shim.exec("main", ["sleep", "300"], [null] * 3, env={"MARK": pod.body.uid, "PATH": "/bin"})
    os.close(null)
    await pod.shim.stop("main", 0)
    assert await execution.wait() == 137
    await until_gone(f"MARK={pod.body.uid}")


async def test_many_commands_at_once(pods: Pods) -> None:
    pod = await a_running_pod(pods)
    answers = await asyncio.gather(*(pod.run("sh", "-c", f"echo {n}; exit {n}") for n in range(20)))
    assert answers == [(n, f"{n}\n") for n in range(20)]


async def test_a_command_with_a_terminal(pods: Pods) -> None:
    pod = await a_running_pod(pods)
    master, slave = os.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    execution = await pod.shim.exec("main", ["sh", "-c", TERMINAL], [slave], tty=True)
    os.close(slave)
    os.close(master)
    assert execution.terminal is not None
    os.write(execution.terminal, b"hello\n")
    assert await execution.wait() == 0
    printed = read_terminal(execution.terminal).replace("\r", "")
    seen = ["/dev/pts/0", "33 77", "controls", "got hello"]
    assert [line for line in printed.splitlines() if line != "hello"] == seen


async def test_a_container_that_has_no_terminals_of_its_own(pods: Pods) -> None:
    """Where the kernel refuses to mount them: commands then get what the caller brings."""
    pod = await pods.make()
    place = pod.directory / "containers" / "main"
    place.mkdir(parents=True)
    (place / "terminals.0").touch()
    await pod.script("tty -s && echo up; sleep 300", tty=True)
    await pod.printed("up")
    master, slave = os.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    execution = await pod.shim.exec("main", ["sh", "-c", TERMINAL], [slave], tty=True)
    os.close(slave)
    assert execution.terminal is None
    os.write(master, b"hello\n")
    assert await execution.wait() == 0
    assert "33 77\ncontrols\n" in read_terminal(master).replace("\r", "")


async def test_terminals_go_with_their_container(pods: Pods) -> None:
    pod = await a_running_pod(pods, "echo up; read x", stdin=True, tty=True)
    place = pod.directory / "containers" / "main" / "terminals.0"
    assert place.is_dir()
    await pod.shim.stop("main", 0)
    await pod.ended()
    await until(lambda: not place.exists())


async def test_a_ticket_lets_a_stranger_run_one_command_once(pods: Pods) -> None:
    socket_path = pods.data / "exec.sock"
    pod = await pods.make(exec_socket=str(socket_path))
    await pod.script(UP)
    await pod.printed("up")
    await pod.shim.allow("secret", "main", ["sh", "-c", "cat; exit 6"])

    def come(ticket: str) -> tuple[str, dict[str, object]]:
        stranger = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stranger.connect(str(socket_path))
        reading, writing = os.pipe()
        given, giving = os.pipe()
        os.write(giving, b"typed")
        try:
            messages.ask(stranger, {"ticket": ticket}, [given, writing, writing])
            os.close(giving)
            giving = -1
            with stranger.makefile("r") as rest:
                return os.read(reading, 100).decode(), json_lines.decode(rest.readline())
        finally:
            for fd in {reading, writing, given, giving} - {-1}:
                os.close(fd)
            stranger.close()

    assert await asyncio.to_thread(come, "secret") == ("typed", {"exited": 6})
    for ticket in ("secret", "guessed"):
        with pytest.raises(kernel.Refusal, match="ticket"):
            await asyncio.to_thread(come, ticket)


@pytest.mark.parametrize("takes", [True, None], ids=["takes the pod's", "brings its own, as earlier versions do"])
async def test_a_ticket_for_a_command_with_a_terminal(pods: Pods, takes: bool | None) -> None:
    socket_path = pods.data / "exec.sock"
    pod = await pods.make(exec_socket=str(socket_path))
    await pod.script(UP)
    await pod.printed("up")
    await pod.shim.allow("secret", "main", ["sh", "-c", TERMINAL], tty=True)

    def come() -> tuple[int, str]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stranger:
            stranger.connect(str(socket_path))
            master, slave = os.openpty()
            message = {"ticket": "secret"} | ({"takes_terminal": True} if takes else {})
            _, received = messages.ask(stranger, message, [slave])
            os.close(slave)
            used = received[0] if received else master
            os.write(used, b"hello\n")
            with stranger.makefile("r") as rest:
                assert json_lines.decode(rest.readline()) == {"exited": 0}
            if received:
                os.close(master)
            return len(received), read_terminal(used)

    received, printed = await asyncio.to_thread(come)
    assert received == (1 if takes else 0)
    assert ("/dev/pts/0\r\n" in printed) == bool(takes)
    assert "controls\r\n" in printed
    assert "got hello\r\n" in printed


async def test_attaching_shows_new_output_and_takes_input(pods: Pods) -> None:
    pod = await a_running_pod(pods, "echo up; read a; echo got $a; echo err >&2; read b || echo end", stdin=True)
    given, giving = os.pipe()
    out, writing_out = os.pipe()
    err, writing_err = os.pipe()
    attachment = await pod.shim.attach("main", stdin=given, stdout=writing_out, stderr=writing_err)
    for fd in (given, writing_out, writing_err):
        os.close(fd)
    os.write(giving, b"hello\n")
    await pod.printed("err")
    os.write(giving, b"more\n")
    os.close(giving)
    assert await attachment.wait() == 0
    assert (read_all(out), read_all(err)) == ("got hello\n", "err\n")


async def test_a_slow_reader_gets_all_that_was_printed_at_the_end(pods: Pods) -> None:
    pod = await a_running_pod(pods, "echo up; read a; seq 1 60000", stdin=True)
    given, giving = os.pipe()
    out, writing = os.pipe()
    attachment = await pod.shim.attach("main", stdin=given, stdout=writing)
    os.close(given)
    os.close(writing)
    os.write(giving, b"go\n")
    await pod.ended()
    os.close(giving)
    text = await asyncio.to_thread(read_all, out)
    assert await attachment.wait() == 0
    assert text.split() == [str(number) for number in range(1, 60001)]


async def test_a_command_ends_with_its_container_where_processes_are_shared(own_proc: None, pods: Pods) -> None:
    pod = await pods.make(share_processes=True)
    await pod.script(UP)
    await pod.printed("up")
    null = os.open("/dev/null", os.O_RDWR)
    execution = await pod.shim.exec("main", ["sh", "-c", "sleep 300; true"], [null] * 3, env={"MARK": pod.body.uid})
    os.close(null)
    await pod.shim.stop("main", 0)
    assert await execution.wait() == 137
    await until_gone(f"MARK={pod.body.uid}")


async def test_stdin_once_ends_with_the_first_who_attached(pods: Pods) -> None:
    pod = await a_running_pod(pods, "echo up; cat; echo end", stdin=True, stdin_once=True)
    given, giving = os.pipe()
    attachment = await pod.shim.attach("main", stdin=given)
    os.close(given)
    os.write(giving, b"text\n")
    os.close(giving)
    assert (await pod.ended()).exit_code == 0
    attachment.close()
    assert pod.text() == "up\ntext\nend\n"


async def test_a_container_with_a_terminal_can_be_resized(pods: Pods) -> None:
    pod = await a_running_pod(pods, "tty -s && echo up; read x; stty size; exit 3", stdin=True, tty=True)
    await pod.shim.resize("main", 100, 40)
    given, giving = os.pipe()
    attachment = await pod.shim.attach("main", stdin=given)
    os.close(given)
    os.write(giving, b"\n")
    assert (await pod.ended()).exit_code == 3
    os.close(giving)
    attachment.close()
    assert "40 100" in pod.text()


async def test_a_container_without_a_terminal_cannot_be_resized(pods: Pods) -> None:
    pod = await a_running_pod(pods)
    with pytest.raises(ShimError, match="has no terminal"):
        await pod.shim.resize("main", 100, 40)


async def test_one_who_does_not_read_is_let_go_and_the_program_goes_on(pods: Pods) -> None:
    pod = await a_running_pod(pods, "echo up; sleep 0.3; seq 1 400000; echo end")
    out, writing = os.pipe()
    attachment = await pod.shim.attach("main", stdout=writing)
    os.close(writing)
    assert (await pod.ended()).exit_code == 0
    await until(lambda: pod.text().endswith("end\n"))
    os.close(out)
    attachment.close()
