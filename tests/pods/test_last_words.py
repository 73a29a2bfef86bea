# SPDX-License-Identifier: Apache-2.0
"""What is known of containers after their end: messages, and memory that was not enough."""

from __future__ import annotations

from tests.pods.manifests import WAIT, pod, py, sh
from tests.pods.spaces import Space, last_state, restarts, state

HUNGRY = """
    import time
    print("eating", flush=True)
    food = []
    while True:
        food.append(bytearray(b"x" * 4_000_000))
        time.sleep(0.01)
"""
LITTLE = {"limits": {"memory": "64Mi"}}


async def message(space: Space, script: str, **fields: str) -> str | None:
    await space.create(pod(sh(script, **fields)))
    return str(state(await space.ended())["terminated"].get("message", ""))


async def test_a_program_may_leave_a_message(space: Space) -> None:
    assert await message(space, "printf 'it was\nlike this' > /dev/termination-log") == "it was\nlike this"


async def test_the_message_s_file_can_be_elsewhere(space: Space) -> None:
    script = "echo here > /tmp/last/words"
    assert await message(space, script, terminationMessagePath="/tmp/last/words") == "here\n"


async def test_without_a_message_there_is_none(space: Space) -> None:
    assert await message(space, "echo only a log; exit 1") == ""


async def test_after_an_error_the_log_can_be_the_message(space: Space) -> None:
    policy = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    assert await message(space, "echo one; echo two >&2; exit 1", **policy) == "one\ntwo\n"


async def test_the_log_is_the_message_only_after_an_error(space: Space) -> None:
    assert await message(space, "echo fine", terminationMessagePolicy="FallbackToLogsOnError") == ""


async def test_a_message_goes_before_the_log(space: Space) -> None:
    script = "echo log; printf file > /dev/termination-log; exit 1"
    assert await message(space, script, terminationMessagePolicy="FallbackToLogsOnError") == "file"


async def test_a_log_as_message_is_its_last_eighty_lines_or_two_kilobytes(space: Space) -> None:
    policy = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    found = await message(space, "seq 1 1000; exit 1", **policy)
    assert found == "".join(f"{number}\n" for number in range(921, 1001))


async def test_a_long_message_is_cut(space: Space) -> None:
    found = await message(space, "head -c 10000 /dev/zero | tr '\\0' a > /dev/termination-log")
    assert found == "a" * 4096


async def test_a_message_outlives_the_restart(space: Space) -> None:
    script = "printf again > /dev/termination-log; exit 1"
    await space.create(pod(sh(script), restartPolicy="Always"))
    seen = await space.until("p", lambda seen: restarts(seen) >= 1)
    assert last_state(seen)["terminated"]["message"] == "again"


async def test_a_program_that_takes_too_much_memory_is_killed_for_it(space: Space) -> None:
    await space.create(pod(py(HUNGRY, resources=LITTLE)))
    end = state(await space.ended())["terminated"]
    assert (end["reason"], end["exitCode"]) == ("OOMKilled", 137)
    assert await space.log() == "eating\n"


async def test_memory_is_a_matter_of_each_container(space: Space) -> None:
    await space.create(pod(py(HUNGRY, resources=LITTLE), sh(WAIT, "other"), restartPolicy="Always"))
    seen = await space.until("p", lambda seen: restarts(seen) >= 1)
    assert last_state(seen)["terminated"]["reason"] == "OOMKilled"
    assert "running" in state(seen, "other")
    assert restarts(seen, "other") == 0


async def test_enough_memory_is_enough(space: Space) -> None:
    script = "food = bytearray(b'x' * 20_000_000); print('full')"
    assert await space.run(pod(py(script, resources={"limits": {"memory": "200Mi"}}))) == "full\n"
