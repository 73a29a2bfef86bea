# SPDX-License-Identifier: Apache-2.0
"""exec, attach, cp and port-forward with the kubectl that everybody has."""

from __future__ import annotations

import os
import re
import socket
import textwrap
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import pytest
from tests.pods.manifests import IMAGE, WAIT, pod, py, sh
from tests.pods.spaces import Space, state
from tests.pods.terminals import Terminal, terminal

from springtide.kube.resources import SERVICES


def on_a_terminal(space: Space, *words: str, rows: int = 24, columns: int = 80) -> AbstractContextManager[Terminal]:
    argv = [space.kubectl.program, f"--namespace={space.name}", *words]
    return terminal(argv, space.kubectl.environment | {"TERM": "xterm"}, rows, columns)


# exec


async def test_a_command_s_output_and_exit_code_come_back(space: Space) -> None:
    await space.start(pod(sh(WAIT)))
    done = space.kubectl.run("exec", "p", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.stdout, done.returncode) == ("out\n", 7)
    assert done.stderr == "err\ncommand terminated with exit code 7\n"


async def test_a_command_reads_what_it_is_given(space: Space) -> None:
    await space.start(pod(sh(WAIT)))
    text = "".join(f"line {number}\n" for number in range(20_000))
    assert space.kubectl("exec", "-i", "p", "--", "cat", stdin=text) == text
    assert space.kubectl("exec", "-i", "p", "--", "wc", "-c", stdin="").strip() == "0"


async def test_a_command_lives_in_its_container(space: Space) -> None:
    one = sh(WAIT, "one", env=[{"name": "WHO", "value": "one"}], workingDir="/usr")
    await space.start(pod(one, sh(WAIT, "two", env=[{"name": "WHO", "value": "two"}])))
    script = "echo $WHO; pwd; hostname"
    assert space.kubectl("exec", "p", "-c", "one", "--", "sh", "-c", script) == "one\n/usr\np\n"
    assert space.kubectl("exec", "p", "-c", "two", "--", "sh", "-c", script) == "two\n/\np\n"
    done = space.kubectl.run("exec", "p", "--", "printenv", "WHO")
    assert (done.stdout, done.stderr) == ("one\n", 'Defaulted container "one" out of: one, two\n')


async def test_a_missing_command_is_an_error(space: Space) -> None:
    await space.start(pod(sh(WAIT)))
    done = space.kubectl.run("exec", "p", "--", "no-such-program")
    assert done.returncode != 0
    assert "no-such-program" in done.stderr


async def test_commands_of_a_pod_that_has_ended_are_refused(space: Space) -> None:
    await space.run(pod(sh("exit 0")))
    said = space.kubectl.refused("exec", "p", "--", "true")
    assert "cannot exec into a container in a completed pod; current phase is Succeeded" in said


async def test_many_commands_at_once(space: Space) -> None:
    await space.start(pod(sh(WAIT)))
    running = [space.kubectl.start("exec", "p", "--", "sh", "-c", f"sleep 0.5; echo {n}") for n in range(8)]
    for number, each in enumerate(running):
        assert each.communicate(timeout=30)[0] == f"{number}\n"


async def test_a_command_on_a_terminal(space: Space) -> None:
    await space.start(pod(sh(WAIT)))
    with on_a_terminal(space, "exec", "-it", "p", "--", "sh", rows=33, columns=101) as shell:
        # The size comes on a channel of its own, maybe after the shell is there.
        shell.type(
            "while stty size | grep -qx '0 0'; do sleep 0.05; done; stty size; tty; ls -x /dev/pts; echo di''rect\n"
        )
        assert "33 101" in shell.shows("direct")
        assert "/dev/pts/0\r\n0  ptmx\r\n" in shell.shown
        shell.type("exit 9\n")
        assert shell.process.wait(timeout=30) == 9


async def test_a_terminal_that_changes_its_size(space: Space) -> None:
    await space.start(pod(sh(WAIT)))
    # The first size may come late, too, and is not the one that is waited for.
    script = "trap 'stty size | grep -x 44.122 && exit 9' WINCH; echo ready; while :; do sleep 0.05; done"
    with on_a_terminal(space, "exec", "-it", "p", "--", "sh", "-c", script) as shell:
        shell.shows("ready")
        shell.resize(44, 122)
        shell.shows("44 122")
        assert shell.process.wait(timeout=30) == 9


async def test_ctrl_c_on_a_terminal_reaches_the_command(space: Space) -> None:
    await space.start(pod(sh(WAIT)))
    script = "trap 'echo interrupted; exit 3' INT; echo ready; while :; do sleep 0.1; done"
    with on_a_terminal(space, "exec", "-it", "p", "--", "sh", "-c", script) as shell:
        shell.shows("ready")
        shell.type("\x03")
        shell.shows("interrupted")
        assert shell.process.wait(timeout=30) == 3


# attach


async def test_attach_shows_what_is_written_from_now_on(space: Space) -> None:
    await space.start(pod(sh("n=0; while :; do n=$((n+1)); echo tick $n; sleep 0.1; done")))
    attached = space.kubectl.start("attach", "p")
    try:
        assert attached.stdout
        lines = [attached.stdout.readline() for _ in range(8)]
    finally:
        attached.kill()
        attached.communicate()
    numbers = [int(found[1]) for line in lines if (found := re.fullmatch(r"tick (\d+)\n", line))]
    assert len(numbers) >= 3
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


async def test_a_program_can_be_talked_to(space: Space) -> None:
    script = 'while read line; do echo "got $line"; done; echo over'
    await space.start(pod(sh(script, stdin=True, stdinOnce=True)))
    space.kubectl.run("attach", "-i", "p", stdin="one\ntwo\n")
    await space.ended()
    assert await space.log() == "got one\ngot two\nover\n"


async def test_a_program_on_a_terminal_can_be_talked_to(space: Space) -> None:
    await space.start(pod(sh('stty -echo; while read line; do echo "got $line"; done', stdin=True, tty=True)))
    with on_a_terminal(space, "attach", "-it", "p") as shell:
        shell.type("hello\r")
        shell.shows("got hello")
    assert state(await space.ready())


async def test_kubectl_run_shows_the_output_and_removes_the_pod(space: Space) -> None:
    words = ["run", "once", "-i", "--rm", "--restart=Never", f"--image={IMAGE}", "--command", "--", "sh", "-c"]
    done = space.kubectl.run(*words, "sleep 1; echo hello; exit 0")
    assert "hello" in done.stdout
    await space.gone("once")


# cp


async def test_files_and_folders_are_copied_both_ways(space: Space, tmp_path: Path) -> None:
    await space.start(pod(sh(WAIT)))
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "data").write_bytes(os.urandom(300_000))
    (folder / "script").write_text("#!/bin/sh\necho ran\n")
    (folder / "script").chmod(0o755)
    space.kubectl("cp", str(folder), "p:/tmp/there")
    assert space.kubectl("exec", "p", "--", "/tmp/there/script") == "ran\n"
    space.kubectl("cp", "p:/tmp/there", str(tmp_path / "back"))
    assert (tmp_path / "back/deep/data").read_bytes() == (folder / "deep/data").read_bytes()


HOSTILE_TAR = """
    import io, sys, tarfile
    def member(name, kind=tarfile.REGTYPE, link="", data=b"hostile"):
        info = tarfile.TarInfo(name)
        info.type, info.linkname, info.size = kind, link, len(data) if kind == tarfile.REGTYPE else 0
        archive.addfile(info, io.BytesIO(data))
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as archive:
        member("there/fine")
        member("there/../../escaped")
        member("../escaped")
        member("OUTSIDE/absolute")
        member("there/up", tarfile.SYMTYPE, "..")
        member("there/up/escaped")
        member("there/out", tarfile.SYMTYPE, "OUTSIDE")
        member("there/out/linked")
        member("there/hard", tarfile.LNKTYPE, "OUTSIDE/secret")
"""


async def test_an_archive_of_a_hostile_container_is_unpacked_in_its_target_only(space: Space, tmp_path: Path) -> None:
    """kubectl unpacks it; what a container's `tar` says is passed on as it is."""
    outside, target = tmp_path / "outside", tmp_path / "below/target"
    outside.mkdir()
    (outside / "secret").write_text("kept")
    target.mkdir(parents=True)
    script = textwrap.dedent(HOSTILE_TAR).replace("OUTSIDE", str(outside))
    install = f"cat > /tmp/tar <<'END'\n#!/usr/bin/env python3\n{script}END\nchmod +x /tmp/tar"
    path = [{"name": "PATH", "value": "/tmp:/usr/local/bin:/usr/bin:/bin"}]
    await space.start(pod(sh(f"{install}\n{WAIT}", env=path)))
    space.kubectl.run("cp", "p:/there", str(target / "there"))
    assert (target / "there/fine").read_text() == "hostile"
    assert set(os.listdir(tmp_path)) - {".kube"} == {"outside", "below"}
    assert (os.listdir(target.parent), os.listdir(outside)) == (["target"], ["secret"])
    assert (outside / "secret").read_text() == "kept"


# port-forward

ECHO = """
    import signal, socketserver, sys
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            for line in self.rfile:
                self.wfile.write(line.upper())
    socketserver.ThreadingTCPServer(("127.0.0.1", 7000), Handler).serve_forever()
"""


@pytest.mark.parametrize("target", ["pod/p", "service/echo"])
async def test_ports_are_forwarded(space: Space, target: str) -> None:
    probe = {"exec": {"command": ["python3", "-c", "import socket; socket.create_connection(('127.0.0.1', 7000))"]}}
    await space.start(pod(py(ECHO, readinessProbe=probe | {"periodSeconds": 1}), labels={"app": "x"}))
    space.kubectl("create", "service", "clusterip", "echo", "--tcp=80:7000")
    await space.client.patch(SERVICES, space.key("echo"), {"spec": {"selector": {"app": "x"}}})
    forwarding = space.kubectl.start("port-forward", target, f":{7000 if target == 'pod/p' else 80}")
    try:
        assert forwarding.stdout
        found = re.search(r"127\.0\.0\.1:(\d+) -> 7000", forwarding.stdout.readline())
        assert found
        for word in (b"one\n", b"two\n"):
            with socket.create_connection(("127.0.0.1", int(found[1])), timeout=30) as connection:
                connection.sendall(word * 1000)
                answer = connection.makefile("rb").read(4000)
                assert answer == word.upper() * 1000
    finally:
        forwarding.kill()
        forwarding.communicate()


async def test_nobody_at_the_port_is_said_and_the_forwarding_goes_on(space: Space) -> None:
    await space.start(pod(sh(WAIT)))
    forwarding = space.kubectl.start("port-forward", "pod/p", ":7000")
    try:
        assert forwarding.stdout
        found = re.search(r"127\.0\.0\.1:(\d+) -> 7000", forwarding.stdout.readline())
        assert found
        with socket.create_connection(("127.0.0.1", int(found[1])), timeout=30) as connection:
            connection.sendall(b"x")
            with suppress(ConnectionResetError):  # if kubectl closes it before it has read the byte
                assert connection.recv(10) == b""
        lines = iter(forwarding.stdout.readline, "")
        assert any("onnection refused" in line for line in lines)
    finally:
        forwarding.kill()
        forwarding.communicate()
