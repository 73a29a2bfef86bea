# SPDX-License-Identifier: Apache-2.0
"""Logs, as kubectl shows them."""

from __future__ import annotations

import asyncio
import re

import pytest
from tests.pods.manifests import WAIT, pod, py, sh
from tests.pods.spaces import Space, restarts, waiting

from springtide.kube.request import Request

pytestmark = pytest.mark.any_user

STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"


async def test_both_streams_are_shown(space: Space) -> None:
    log = await space.run(pod(sh("echo out; echo err >&2")))
    assert sorted(log.splitlines()) == ["err", "out"]


async def test_the_last_lines(space: Space) -> None:
    await space.run(pod(sh("seq 1 1000")))
    assert space.kubectl("logs", "p", "--tail=3") == "998\n999\n1000\n"
    assert space.kubectl("logs", "p", "--tail=0") == ""
    assert space.kubectl("logs", "p") == "".join(f"{number}\n" for number in range(1, 1001))
    assert space.kubectl("logs", "p", "--limit-bytes=5") == "1\n2\n3"


async def test_lines_with_their_times(space: Space) -> None:
    await space.run(pod(sh("echo one; sleep 0.2; echo two")))
    lines = space.kubectl("logs", "p", "--timestamps").splitlines()
    assert all(re.fullmatch(rf"{STAMP} (one|two)", line) for line in lines)
    assert lines == sorted(lines)


async def test_lines_since_then(space: Space) -> None:
    await space.run(pod(sh("echo old; sleep 3; echo new")))
    moment = space.kubectl("logs", "p", "--timestamps").splitlines()[-1].split()[0]
    assert space.kubectl("logs", "p", f"--since-time={moment}") == "new\n"
    assert space.kubectl("logs", "p", "--since=1h") == "old\nnew\n"
    await asyncio.sleep(2)
    assert space.kubectl("logs", "p", "--since=1s") == ""


async def test_following_ends_with_the_program(space: Space) -> None:
    await space.create(pod(sh("for n in 1 2 3 4 5; do echo $n; sleep 0.2; done")))
    await space.phase("p", "Running", "Succeeded")
    assert space.kubectl("logs", "-f", "p") == "1\n2\n3\n4\n5\n"


async def test_following_shows_lines_as_they_come(space: Space) -> None:
    await space.start(pod(sh(f"while [ ! -e /tmp/go ]; do sleep 0.05; done; echo gone on; {WAIT}")))
    following = space.kubectl.start("logs", "-f", "p")
    try:
        space.kubectl("exec", "p", "--", "touch", "/tmp/go")
        assert following.stdout
        assert following.stdout.readline() == "gone on\n"
    finally:
        following.kill()
        following.communicate()


async def test_following_with_a_tail(space: Space) -> None:
    await space.create(pod(sh("seq 1 100; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo last")))
    await space.says("p", "100")
    following = space.kubectl.start("logs", "-f", "--tail=2", "p")
    assert following.stdout
    assert [following.stdout.readline() for _ in range(2)] == ["99\n", "100\n"]
    space.kubectl("exec", "p", "--", "touch", "/tmp/go")
    assert following.communicate(timeout=30)[0] == "last\n"


async def test_the_life_before(space: Space) -> None:
    volume = {"name": "v", "emptyDir": {}}
    script = f"if [ -e /v/x ]; then echo second life; {WAIT}; fi; touch /v/x; echo first life; exit 1"
    main = sh(script, volumeMounts=[{"name": "v", "mountPath": "/v"}])
    await space.create(pod(main, restartPolicy="Always", volumes=[volume]))
    await space.says("p", "second")
    assert space.kubectl("logs", "p", "--previous") == "first life\n"
    assert space.kubectl("logs", "p") == "second life\n"


async def test_there_is_no_life_before_the_first(space: Space) -> None:
    seen = await space.start(pod(sh(WAIT)))
    assert restarts(seen) == 0
    said = space.kubectl.refused("logs", "p", "--previous")
    assert 'previous terminated container "main" in pod "p" not found' in said


async def test_a_container_that_waits_has_no_log_yet(space: Space) -> None:
    await space.create(pod(sh(WAIT, envFrom=[{"configMapRef": {"name": "none"}}])))
    await space.until("p", lambda seen: waiting(seen) == "CreateContainerConfigError")
    said = space.kubectl.refused("logs", "p")
    assert 'container "main" in pod "p" is waiting to start: CreateContainerConfigError' in said


async def test_while_it_backs_off_the_last_life_is_shown(space: Space) -> None:
    await space.create(pod(sh("echo tried; exit 1"), restartPolicy="Always"))
    await space.until("p", lambda seen: waiting(seen) == "CrashLoopBackOff")
    assert space.kubectl("logs", "p") == "tried\n"


async def test_of_several_containers(space: Space) -> None:
    inits = [sh("echo from init", "init")]
    await space.create(pod(sh("echo from a", "a"), sh("echo from b", "b"), initContainers=inits))
    await space.ended()
    assert space.kubectl("logs", "p", "-c", "b") == "from b\n"
    assert space.kubectl("logs", "p", "-c", "init") == "from init\n"
    done = space.kubectl.run("logs", "p")
    assert (done.stdout, done.stderr) == ("from a\n", 'Defaulted container "a" out of: a, b, init (init)\n')
    everything = space.kubectl("logs", "p", "--all-containers", "--prefix").splitlines()
    assert sorted(everything) == ["[pod/p/a] from a", "[pod/p/b] from b", "[pod/p/init] from init"]
    assert "container c is not valid for pod p" in space.kubectl.refused("logs", "p", "-c", "c")


async def test_of_all_pods_with_a_label(space: Space) -> None:
    await space.run(*(pod(sh(f"echo from {name}"), name=name, labels={"app": "x"}) for name in ("a", "b")))
    assert sorted(space.kubectl("logs", "-l", "app=x").splitlines()) == ["from a", "from b"]


async def test_long_lines_stay_whole(space: Space) -> None:
    log = await space.run(pod(py("print('x' * 100_000); print('short')")))
    assert log == "x" * 100_000 + "\nshort\n"


async def test_a_last_line_without_an_end_is_shown_as_it_is(space: Space) -> None:
    assert await space.run(pod(sh("echo one; printf two"))) == "one\ntwo"


async def test_many_lines_are_all_there_and_in_order(space: Space) -> None:
    log = await space.run(pod(sh("seq 1 50000")))
    assert log == "".join(f"{number}\n" for number in range(1, 50001))


async def test_bytes_that_are_no_text_are_shown_as_they_are(space: Space) -> None:
    await space.create(pod(sh("printf 'a\\377\\000b\\n'")))
    await space.ended()
    path = f"/api/v1/namespaces/{space.name}/pods/p/log"
    assert (await space.client.raw(Request("GET", path))).body == b"a\xff\x00b\n"


async def test_a_log_asked_for_at_once_waits_for_the_program_to_start(space: Space) -> None:
    for number in range(4):
        await space.create(pod(sh("echo begun"), name=f"p{number}"))
        assert space.kubectl("logs", "-f", f"p{number}") == "begun\n"


async def test_the_longest_name_has_a_log(space: Space) -> None:
    name = "n" * 253
    log = await space.run(pod(sh("echo here"), name=name))
    assert log == "here\n"
