# SPDX-License-Identifier: Apache-2.0
"""Programs that start, and those that cannot."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pods.manifests import IMAGE, WAIT, mount, pod, sh
from tests.pods.spaces import Space, condition, containers, last_state, restarts, state, status, waiting

from springtide.kube.resources import Obj


async def test_a_running_pod_says_where_it_is_and_since_when(space: Space) -> None:
    seen = await space.start(pod(sh(WAIT)))
    assert seen["status"]["phase"] == "Running"
    assert seen["status"]["qosClass"] == "BestEffort"
    assert seen["status"]["podIPs"] == [{"ip": seen["status"]["podIP"]}]
    assert seen["status"]["hostIPs"] == [{"ip": seen["status"]["hostIP"]}]
    assert seen["status"]["startTime"] >= seen["metadata"]["creationTimestamp"]
    main = status(seen)
    assert (main["ready"], main["started"], main["restartCount"], main["lastState"]) == (True, True, 0, {})
    assert list(main["state"]) == ["running"]
    assert "://" in main["containerID"]
    assert main["image"].endswith(IMAGE)


async def test_all_conditions_of_a_running_pod_are_true(space: Space) -> None:
    seen = await space.start(pod(sh(WAIT)))
    for kind in ("PodScheduled", "PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"):
        assert condition(seen, kind)["status"] == "True", kind


async def test_a_program_that_ends_well_has_succeeded(space: Space) -> None:
    await space.create(pod(sh("echo done")))
    seen = await space.ended()
    assert seen["status"]["phase"] == "Succeeded"
    end = state(seen)["terminated"]
    assert (end["exitCode"], end["reason"]) == (0, "Completed")
    assert end["containerID"] == status(seen)["containerID"]
    assert end["startedAt"] <= end["finishedAt"]
    assert not status(seen)["ready"]
    assert not status(seen)["started"]
    for kind in ("Ready", "ContainersReady"):
        assert (condition(seen, kind)["status"], condition(seen, kind)["reason"]) == ("False", "PodCompleted")
    assert condition(seen, "Initialized")["status"] == "True"
    assert condition(seen, "Initialized")["reason"] == "PodCompleted"


async def test_a_program_that_ends_badly_has_failed(space: Space) -> None:
    await space.create(pod(sh("exit 42")))
    seen = await space.ended()
    assert seen["status"]["phase"] == "Failed"
    end = state(seen)["terminated"]
    assert (end["exitCode"], end["reason"]) == (42, "Error")
    assert condition(seen, "Ready")["reason"] == "PodFailed"


async def test_one_failed_container_fails_the_pod_once_the_others_have_ended(space: Space) -> None:
    await space.create(pod(sh("exit 1", "bad"), sh("sleep 0.5", "good")))
    seen = await space.ended()
    assert seen["status"]["phase"] == "Failed"
    assert [state(seen, each)["terminated"]["reason"] for each in containers(seen)] == ["Error", "Completed"]


async def test_a_pod_with_one_container_left_is_running_but_not_ready(space: Space) -> None:
    await space.create(pod(sh("exit 0", "short"), sh(WAIT, "long")))
    seen = await space.until(
        "p", lambda seen: "terminated" in state(seen, "short") and "running" in state(seen, "long")
    )
    assert seen["status"]["phase"] == "Running"
    found = condition(seen, "Ready")
    assert (found["status"], found["reason"]) == ("False", "ContainersNotReady")
    assert found["message"] == "containers with unready status: [short]"


async def test_exit_codes_of_signals_are_128_and_the_signal(space: Space) -> None:
    signals = {"kill": ("KILL", 137), "segv": ("SEGV", 139), "usr1": ("USR1", 138)}
    await space.create(*(pod(sh(f"sh -c 'kill -{signal} $$'"), name=name) for name, (signal, _) in signals.items()))
    for name, (_, code) in signals.items():
        end = state(await space.ended(name))["terminated"]
        assert (end["exitCode"], end["reason"]) == (code, "Error")


async def test_events_tell_the_start(space: Space) -> None:
    await space.start(pod(sh(WAIT)))
    await space.event("p", "Started")
    said = [reason for reason, _ in await space.events("p")]
    assert {"Scheduled", "Pulled", "Created", "Started"} <= set(said)


async def test_a_missing_command_fails_a_pod_that_is_never_restarted(space: Space) -> None:
    await space.create(pod(sh("") | {"command": ["no-such-program", "x"]}))
    seen = await space.ended()
    assert seen["status"]["phase"] == "Failed"
    end = state(seen)["terminated"]
    assert (end["exitCode"], end["reason"]) == (128, "StartError")
    assert "no-such-program" in end["message"]
    assert "no-such-program" in await space.event("p", "Failed")


async def test_a_missing_command_is_tried_again_where_restarts_are_wanted(space: Space) -> None:
    await space.create(pod(sh("") | {"command": ["no-such-program"]}, restartPolicy="Always"))
    seen = await space.until("p", lambda seen: restarts(seen) >= 1)
    assert seen["status"]["phase"] == "Running"
    assert last_state(seen)["terminated"]["exitCode"] == 128
    seen = await space.until("p", lambda seen: waiting(seen) == "CrashLoopBackOff")
    assert last_state(seen)["terminated"]["reason"] == "StartError"


async def test_a_file_that_may_not_be_executed_is_a_start_error(space: Space) -> None:
    await space.create(pod(sh("") | {"command": ["/etc/passwd"]}))
    end = state(await space.ended())["terminated"]
    assert (end["exitCode"], end["reason"]) == (128, "StartError")
    assert "permission denied" in end["message"].lower()


async def test_a_working_directory_is_made_where_there_is_none(space: Space) -> None:
    assert await space.run(pod(sh("pwd", workingDir="/not/there/yet"))) == "/not/there/yet\n"


async def test_a_relative_command_is_looked_for_in_the_working_directory(space: Space) -> None:
    script = "printf '#!/bin/sh\\necho found \"$1\"\\n' > /work-dir/tool; chmod +x /work-dir/tool"
    volume: dict[str, Any] = {"volumeMounts": [mount("v", "/work-dir")]}
    main = sh("", workingDir="/work-dir", **volume) | {"command": ["./tool"], "args": ["it"]}
    pods = pod(main, initContainers=[sh(script, "make", **volume)], volumes=[{"name": "v", "emptyDir": {}}])
    assert await space.run(pods) == "found it\n"


async def test_a_pod_that_fits_nowhere_is_pending_and_says_why(space: Space) -> None:
    await space.create(pod(sh(WAIT), nodeSelector={"springtide.dev/no-such": "node"}))
    seen = await space.until("p", lambda seen: "reason" in condition(seen, "PodScheduled"))
    assert seen["status"]["phase"] == "Pending"
    found = condition(seen, "PodScheduled")
    assert (found["status"], found["reason"]) == ("False", "Unschedulable")
    assert "node(s) didn't match Pod's node affinity/selector" in found["message"]
    assert "containerStatuses" not in seen["status"]


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"command": ["sh\0"]}, "command[0]"),
        ({"args": ["a\0b"]}, "args[0]"),
        ({"workingDir": "/\0"}, "workingDir"),
        ({"terminationMessagePath": "/\0"}, "terminationMessagePath"),
    ],
    ids=["command", "argument", "directory", "message"],
)
async def test_a_zero_byte_is_a_config_error_that_names_its_place(space: Space, fields: Obj, place: str) -> None:
    await space.create(pod(sh("echo never", **fields)))
    seen = await space.until("p", lambda seen: waiting(seen) == "CreateContainerConfigError")
    why = f"container main.{place} holds a zero byte, which no command and no path can"
    assert state(seen)["waiting"]["message"] == why
