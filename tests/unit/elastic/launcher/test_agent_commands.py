# SPDX-License-Identifier: Apache-2.0
"""How agents are started: what stands on command lines, and what does not."""

from __future__ import annotations

import pytest

from springtide.elastic.launcher.agent_commands import KUBEXEC, AgentCommands, Call

CALL = Call(("10.0.0.1", "fd00::1"), 4242, (3, 4), ("abc", "def"))
AGENT = "-P -m springtide.elastic.agent --connect 10.0.0.1:4242,fd00::1:4242 --workers 3,4"


def starting(*command: str, port: int | None = None, identity: str | None = None, **environment: str) -> AgentCommands:
    return AgentCommands.given(command or ("prog",), environment, "/my work", port, identity)


def test_a_pod_is_reached_through_kubexec_and_knows_its_paths_best() -> None:
    run = starting("python", "x.py", OMPI_MCA_plm_rsh_agent=KUBEXEC, PATH="/a b", PYTHONPATH="/p", SECRET="s")
    assert run.elsewhere("worker-0", CALL) == (
        "/etc/mpi/kubexec.sh",
        "worker-0",
        "cd '/my work' 2>/dev/null; export PATH=\"${PATH:+$PATH:}\"'/a b'; "
        f'export PYTHONPATH="${{PYTHONPATH:+$PYTHONPATH:}}"/p; exec python {AGENT} --announce-tokens',
    )


def test_what_is_proved_is_read_where_nobody_else_reads() -> None:
    pods, hosts = starting(OMPI_MCA_plm_rsh_agent=KUBEXEC), starting()
    assert pods.unread(CALL, here=False) == b""
    for unread in (pods.unread(CALL, here=True), hosts.unread(CALL, here=False), hosts.unread(CALL, here=True)):
        assert unread == b"abc,def\n"
    for argv in (pods.here(CALL), pods.elsewhere("a", CALL), hosts.here(CALL), hosts.elsewhere("a", CALL)):
        assert "abc" not in " ".join(argv)


@pytest.mark.parametrize("agent", ["/etc/mpi/kubexec.sh ", "kubexec.sh", "ssh", ""])
def test_everything_but_exactly_that_is_ssh(agent: str) -> None:
    assert starting(OMPI_MCA_plm_rsh_agent=agent).elsewhere("a", CALL)[0] == "ssh"


def test_ssh_asks_nobody_anything() -> None:
    argv = starting(port=2222, identity="/k", PATH="/bin").elsewhere("a", CALL)
    assert argv[-6:-1] == ("-p", "2222", "-i", "/k", "a")
    assert {"PasswordAuthentication=no", "StrictHostKeyChecking=no", "BatchMode=yes"} <= set(argv)
    assert argv[-1] == f"cd '/my work' 2>/dev/null; export PATH=/bin\"${{PATH:+:$PATH}}\"; exec python3 {AGENT}"


@pytest.mark.parametrize(
    ("program", "interpreter"),
    [("python3.12", "python3.12"), ("/opt/v/bin/python", "/opt/v/bin/python"), ("bash", "python3")],
)
def test_the_interpreter_is_the_programs_own(program: str, interpreter: str) -> None:
    assert f"exec {interpreter} -P" in starting(program).elsewhere("a", CALL)[-1]
