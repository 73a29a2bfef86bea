# SPDX-License-Identifier: Apache-2.0
"""What happens to programs that end: restart policies and back-off."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pods.manifests import WAIT, mount, pod, sh
from tests.pods.spaces import Space, last_state, restarts, state, waiting

pytestmark = pytest.mark.any_user

SHARED: dict[str, Any] = {"volumeMounts": [mount("v", "/v")]}
VOLUME = [{"name": "v", "emptyDir": {}}]


async def test_the_first_restart_comes_at_once_and_the_next_one_waits(space: Space) -> None:
    await space.create(pod(sh("echo life; exit 7"), restartPolicy="Always"))
    seen = await space.until("p", lambda seen: restarts(seen) == 1 and waiting(seen) == "CrashLoopBackOff")
    assert seen["status"]["phase"] == "Running"
    name = f"p_{space.name}({seen['metadata']['uid']})"
    assert state(seen)["waiting"]["message"] == f"back-off 10s restarting failed container=main pod={name}"
    end = last_state(seen)["terminated"]
    assert (end["exitCode"], end["reason"]) == (7, "Error")
    assert await space.event("p", "BackOff") == f"Back-off restarting failed container main in pod {name}"


async def test_the_wait_doubles(space: Space) -> None:
    await space.create(pod(sh("exit 7"), restartPolicy="Always"))
    seen = await space.until("p", lambda seen: restarts(seen) == 2 and waiting(seen) == "CrashLoopBackOff")
    assert state(seen)["waiting"]["message"].startswith("back-off 20s ")


async def test_always_restarts_success_too(space: Space) -> None:
    await space.create(pod(sh("exit 0"), restartPolicy="Always"))
    seen = await space.until("p", lambda seen: restarts(seen) == 1)
    assert last_state(seen)["terminated"]["reason"] == "Completed"


async def test_on_failure_restarts_until_success(space: Space) -> None:
    script = "if [ -e /v/again ]; then echo second; else touch /v/again; exit 3; fi"
    await space.create(pod(sh(script, **SHARED), restartPolicy="OnFailure", volumes=VOLUME))
    seen = await space.ended()
    assert seen["status"]["phase"] == "Succeeded"
    assert restarts(seen) == 1
    assert last_state(seen)["terminated"]["exitCode"] == 3
    assert await space.log() == "second\n"


async def test_never_means_never(space: Space) -> None:
    await space.create(pod(sh("exit 3")))
    seen = await space.ended()
    assert (seen["status"]["phase"], restarts(seen), last_state(seen)) == ("Failed", 0, {})


async def test_a_restarted_container_has_a_fresh_root_and_its_old_volumes(space: Space) -> None:
    script = (
        f"if [ -e /v/again ]; then ls /tmp /root; echo again; {WAIT}; fi; touch /tmp/old /root/old /v/again; exit 1"
    )
    await space.create(pod(sh(script, **SHARED), restartPolicy="Always", volumes=VOLUME))
    assert "old" not in await space.says("p", "again")


async def test_only_the_container_that_failed_is_restarted(space: Space) -> None:
    script = f"[ -e /v/again ] || {{ touch /v/again; exit 1; }}; {WAIT}"
    manifest = pod(sh(script, "bad", **SHARED), sh(WAIT, "good"), restartPolicy="Always", volumes=VOLUME)
    await space.create(manifest)
    seen = await space.until("p", lambda seen: restarts(seen, "bad") == 1 and "running" in state(seen, "bad"))
    assert restarts(seen, "good") == 0


@pytest.mark.parametrize("policy", ["Always", "OnFailure", "Never"])
async def test_what_kubectl_shows(space: Space, policy: str) -> None:
    wanted = {"Always": "CrashLoopBackOff", "OnFailure": "CrashLoopBackOff", "Never": "Error"}[policy]
    await space.create(pod(sh("exit 3"), restartPolicy=policy))
    await space.until("p", lambda seen: policy == "Never" or waiting(seen) == "CrashLoopBackOff")
    await space.until("p", lambda seen: policy != "Never" or "terminated" in state(seen))
    assert wanted in space.kubectl("get", "pod", "p")
