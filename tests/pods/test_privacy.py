# SPDX-License-Identifier: Apache-2.0
"""What is a container's own, what a pod's, and what a program can see of the others."""

from __future__ import annotations

from typing import Any

from tests.pods.manifests import WAIT, mount, pod, py, sh
from tests.pods.spaces import Space

VOLUME = {"name": "v", "emptyDir": {}}
SHARED: dict[str, Any] = {"volumeMounts": [mount("v", "/v")]}


async def test_each_container_has_its_own_scratch_places(space: Space) -> None:
    places = "/tmp /run /root"
    one = sh(f"for each in {places}; do touch $each/one; done; touch /v/done; {WAIT}", "one", **SHARED)
    script = (
        f"while [ ! -e /v/done ]; do sleep 0.05; done; for each in {places}; do ls $each | grep -x one; done; echo over"
    )
    await space.create(pod(one, sh(script, "two", **SHARED), volumes=[VOLUME]))
    assert await space.says("p", "over", "two") == "over\n"


async def test_nothing_of_a_pod_is_left_for_the_next(space: Space) -> None:
    script = "ls -A /tmp /dev/shm /root; touch /tmp/mine /dev/shm/mine /root/mine"
    first = await space.run(pod(sh(script), name="first"))  # an environment may lie in /tmp or /root and shows there
    assert "mine" not in first.split()
    assert await space.run(pod(sh(script), name="second")) == first


async def test_scratch_places_can_be_written_to(space: Space) -> None:
    script = "for each in /tmp /run /root /dev/shm; do touch $each/x && echo $each; done"
    assert await space.run(pod(sh(script))) == "/tmp\n/run\n/root\n/dev/shm\n"


async def test_terminals_of_others_cannot_be_opened(space: Space) -> None:
    """Who can open one reads what somebody types into `kubectl exec -it`, and writes to that screen."""
    typing = sh(f"test -t 0 && tty && echo typing; {WAIT}", stdin=True, tty=True)
    await space.create(pod(typing, sh(WAIT, "beside"), name="typing"))
    assert await space.says("typing", "typing", "main") == "/dev/pts/0\r\ntyping\r\n"
    assert space.kubectl("exec", "typing", "-c", "beside", "--", "ls", "/dev/pts") == "ptmx\n"
    script = """
        import os, pty
        print(os.listdir("/dev/pts"))
        master, slave = pty.openpty()
        os.write(master, b"x\\n")
        print(os.ttyname(slave), os.read(slave, 9), os.readlink("/dev/ptmx"), os.listdir("/dev/pts"))
    """
    seen = await space.run(pod(py(script), name="spy"))
    assert seen == "['ptmx']\n/dev/pts/0 b'x\\n' pts/ptmx ['0', 'ptmx']\n"


async def test_containers_of_a_pod_share_memory(space: Space) -> None:
    two = sh("while [ ! -e /dev/shm/x ]; do sleep 0.05; done; cat /dev/shm/x", "two")
    await space.create(pod(sh("echo shared > /dev/shm/x; sleep 1", "one"), two))
    assert await space.says("p", "shared", "two") == "shared\n"


async def test_a_program_sees_its_own_processes_only(space: Space) -> None:
    script = "import os; print(len([name for name in os.listdir('/proc') if name.isdigit()]) <= 3)"
    await space.create(pod(py(script), sh("sleep 1000 & sleep 1000 & sleep 1", "other")))
    await space.ended()
    assert await space.log(container="main") == "True\n"


async def test_containers_may_share_their_processes(space: Space) -> None:
    marker = "sleep 12345.5"
    script = f"while ! grep -zqs 12345.5 /proc/[0-9]*/cmdline; do sleep 0.05; done; echo seen; {WAIT}"
    await space.create(pod(sh(f"exec {marker}", "other"), sh(script), shareProcessNamespace=True))
    assert await space.says("p", "seen", "main") == "seen\n"


async def test_programs_run_as_root_or_as_whoever_runs_the_cluster(space: Space) -> None:
    log = await space.run(pod(sh("id -u; id -un; echo $HOME; cd ~ && pwd; touch ~/x && echo home")))
    user, name, *rest = log.splitlines()
    assert rest == ["/root", "/root", "home"]
    if space.cluster.kind == "user":
        assert user != "0"
    else:
        assert (user, name) == ("0", "root")


async def test_a_user_can_be_chosen_by_root(space: Space) -> None:
    context = {"runAsUser": 1234, "runAsGroup": 2345, "fsGroup": 3456, "supplementalGroups": [4567]}
    script = "id -u; id -g; id -G; touch /v/x; stat -c '%u %g' /v/x; stat -c '%g %a' /v"
    log = await space.run(pod(sh(script, **SHARED), securityContext=context, volumes=[VOLUME]))
    if space.cluster.kind == "user":
        assert "1234" not in log
        assert any("runAsUser" in message for _, message in await space.events("p"))
        return
    user, group, groups, file, folder = log.splitlines()
    assert (user, group) == ("1234", "2345")
    assert set(groups.split()) == {"2345", "3456", "4567"}
    assert file == "1234 3456"
    assert folder == "3456 2777"


async def test_a_user_who_must_not_be_root_is_not(space: Space) -> None:
    await space.create(pod(sh("id -u"), securityContext={"runAsNonRoot": True}))
    if space.cluster.kind == "user":
        await space.ended()
        assert (await space.log()).strip() != "0"
        return
    seen = await space.until("p", lambda seen: "waiting" in str(seen["status"].get("containerStatuses")))
    await space.event("p", "Failed", "container has runAsNonRoot and image will run as root")
    assert seen["status"]["phase"] == "Pending"


async def test_devices_that_every_program_needs_are_there(space: Space) -> None:
    script = (
        "echo x > /dev/null; head -c 4 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c; ls -d /dev/fd /dev/stdout"
    )
    assert await space.run(pod(sh(script))) == "4\n4\n/dev/fd\n/dev/stdout\n"


async def test_a_program_does_not_keep_what_the_cluster_has_open(space: Space) -> None:
    script = "import os; print(sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:-1])"
    assert await space.run(pod(py(script))) == "[0, 1, 2]\n"


async def test_signals_have_their_default_meaning(space: Space) -> None:
    script = """
        import signal
        ignored = [number.name for number in signal.valid_signals() if isinstance(number, signal.Signals)
                   and signal.getsignal(number) is signal.SIG_IGN and number.name not in ("SIGPIPE", "SIGXFSZ")]
        print(ignored, signal.pthread_sigmask(signal.SIG_BLOCK, []))
        print(open("/proc/self/status").read().split("SigIgn:")[1].split()[0])
    """
    log = await space.run(pod(py(script)))
    assert log.splitlines()[0] == "[] set()"


async def test_ordinary_limits_hold(space: Space) -> None:
    soft = int((await space.run(pod(sh("ulimit -n")))).strip().replace("unlimited", str(1 << 20)))
    assert soft >= 1024
