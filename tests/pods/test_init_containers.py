# SPDX-License-Identifier: Apache-2.0
"""What runs before the main containers, and beside them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pods.manifests import WAIT, mount, pod, sh
from tests.pods.spaces import Space, condition, kept, restarts, state, status, waiting

pytestmark = pytest.mark.any_user

SHARED: dict[str, Any] = {"volumeMounts": [mount("v", "/v")]}
VOLUME = [{"name": "v", "emptyDir": {}}]


async def test_they_run_one_after_the_other_before_the_main_ones(space: Space) -> None:
    inits = [sh(f"sleep 0.{3 - n}; echo {n} >> /v/order", f"i{n}", **SHARED) for n in range(3)]
    main = sh("echo main >> /v/order; cat /v/order", **SHARED)
    assert await space.run(pod(main, initContainers=inits, volumes=VOLUME)) == "0\n1\n2\nmain\n"
    seen = await space.ended()
    for name in ("i0", "i1", "i2"):
        assert state(seen, name)["terminated"]["reason"] == "Completed"
        assert status(seen, name)["ready"]


async def test_while_they_run_the_pod_is_pending(space: Space) -> None:
    inits = [sh("exit 0", "a"), sh(WAIT, "b"), sh("exit 0", "c")]
    await space.create(pod(sh(WAIT), initContainers=inits))
    seen = await space.until("p", lambda seen: "running" in state(seen, "b"))
    assert seen["status"]["phase"] == "Pending"
    assert waiting(seen, "c") == "PodInitializing"
    assert waiting(seen) == "PodInitializing"
    found = condition(seen, "Initialized")
    assert (found["status"], found["reason"]) == ("False", "ContainersNotInitialized")
    assert found["message"] == "containers with incomplete status: [b c]"
    assert condition(seen, "Ready")["message"] == "containers with unready status: [main]"
    assert "Init:1/3" in space.kubectl("get", "pod", "p")


async def test_one_that_fails_fails_a_pod_that_is_never_restarted(space: Space) -> None:
    await space.create(pod(sh("exit 0"), initContainers=[sh("exit 5", "a"), sh("exit 0", "b")]))
    seen = await space.ended()
    assert seen["status"]["phase"] == "Failed"
    assert state(seen, "a")["terminated"]["exitCode"] == 5
    assert waiting(seen, "b") == "PodInitializing"
    assert waiting(seen) == "PodInitializing"
    assert "Init:Error" in space.kubectl("get", "pod", "p")


async def test_one_that_fails_is_tried_again_otherwise(space: Space) -> None:
    script = "[ -e /v/again ] || { touch /v/again; exit 1; }"
    inits = [sh("echo first >> /v/order", "a", **SHARED), sh(script, "b", **SHARED)]
    main = sh("cat /v/order", **SHARED)
    manifest = pod(main, initContainers=inits, restartPolicy="OnFailure", volumes=VOLUME)
    assert await space.run(manifest) == "first\n"
    assert restarts(await space.ended(), "b") == 1


async def test_one_that_keeps_failing_backs_off(space: Space) -> None:
    await space.create(pod(sh(WAIT), initContainers=[sh("exit 1", "a")], restartPolicy="Always"))
    seen = await space.until("p", lambda seen: waiting(seen, "a") == "CrashLoopBackOff")
    assert seen["status"]["phase"] == "Pending"
    assert "Init:CrashLoopBackOff" in space.kubectl("get", "pod", "p")


def sidecar(script: str, name: str = "side", **fields: object) -> dict[str, object]:
    return sh(script, name, restartPolicy="Always", **fields)


async def test_a_sidecar_runs_before_and_beside_the_main_container(space: Space) -> None:
    side = sidecar(f"touch /v/side; {WAIT}", **SHARED, startupProbe=_exists("/v/side"))
    main = sh(f"ls /v; {WAIT}", **SHARED)
    seen = await space.start(pod(main, initContainers=[side], volumes=VOLUME))
    assert await space.log(container="main") == "side\n"
    assert "running" in state(seen, "side")
    assert status(seen, "side")["started"]
    assert "2/2" in space.kubectl("get", "pod", "p")


def _exists(path: str) -> dict[str, object]:
    return {"exec": {"command": ["test", "-e", path]}, "periodSeconds": 1}


async def test_nothing_starts_before_a_sidecar_has_started(space: Space) -> None:
    side = sidecar(WAIT, startupProbe={**_exists("/v/go"), "failureThreshold": 100}, **SHARED)
    await space.create(pod(sh(WAIT), initContainers=[side], volumes=VOLUME))
    seen = await space.until("p", lambda seen: "running" in state(seen, "side"))
    assert (status(seen, "side")["started"], waiting(seen)) == (False, "PodInitializing")
    space.kubectl("exec", "p", "-c", "side", "--", "touch", "/v/go")
    await space.ready()


async def test_a_pod_with_sidecars_ends_with_its_main_containers(space: Space) -> None:
    await space.create(pod(sh("exit 0"), initContainers=[sidecar(WAIT)]))
    seen = await space.ended()
    assert seen["status"]["phase"] == "Succeeded"
    assert state(seen, "side")["terminated"]["exitCode"] == 0


async def test_a_sidecar_s_failure_at_the_end_does_not_count(space: Space) -> None:
    script = "trap 'exit 9' TERM; while :; do sleep 0.1; done"
    await space.create(pod(sh("sleep 0.5"), initContainers=[sidecar(script)]))
    seen = await space.ended()
    assert seen["status"]["phase"] == "Succeeded"
    assert state(seen, "side")["terminated"]["exitCode"] == 9


async def test_a_sidecar_is_restarted_whatever_the_pod_s_policy(space: Space) -> None:
    side = sidecar(f"[ -e /v/again ] || {{ touch /v/again; exit 1; }}; {WAIT}", **SHARED)
    await space.create(pod(sh(WAIT), initContainers=[side], volumes=VOLUME))
    await space.until("p", lambda seen: restarts(seen, "side") == 1 and "running" in state(seen, "side"))


async def test_main_containers_end_before_sidecars_and_those_in_reverse(space: Space) -> None:
    def says(name: str) -> str:
        return f"trap 'echo {name} >> /v/order; exit 0' TERM; while :; do sleep 0.1; done"

    sides = [sidecar(says(name), name, **SHARED) for name in ("one", "two")]
    watcher = sidecar("trap 'cat /v/order; exit 0' TERM; while :; do sleep 0.1; done", "zero", **SHARED)
    manifest = pod(
        sh(says("main"), **SHARED), initContainers=[watcher, *sides], volumes=VOLUME, terminationGracePeriodSeconds=20
    )
    await space.start(kept(manifest))
    await space.delete_and_see()
    await space.until("p", lambda seen: "terminated" in state(seen, "zero"))
    assert await space.log(container="zero") == "main\ntwo\none\n"
