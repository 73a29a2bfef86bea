# SPDX-License-Identifier: Apache-2.0
"""Who is asked, when, and until when. An hour passes at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from tests.unit.local.kubelet.builders import a_container, a_pod, runs, states

from springtide.kube.resources import Obj
from springtide.local.kubelet.pods.local_pods import LocalPod
from springtide.local.kubelet.pods.observed import Verdict
from springtide.local.kubelet.probes.prober import Prober
from springtide.local.runtime.shim_client import Shim, ShimError

pytestmark = pytest.mark.looptime


class Programs:
    """A shim in which commands end at once, with the codes they are given; the last one holds for ever."""

    def __init__(self, **codes: list[int]) -> None:
        self.codes = codes
        self.asked: list[str] = []

    async def exec(self, container: str, argv: list[str], fds: list[int]) -> Programs:
        self.asked.append(argv[0])
        codes = self.codes.get(argv[0])
        if codes is None:
            raise ShimError("NotRunning", "no such container")
        self._next = codes.pop(0) if len(codes) > 1 else codes[0]
        return self

    async def wait(self) -> int:
        return self._next


class Asked:
    """A pod with one container and a prober."""

    def __init__(self, programs: Programs, container: Obj) -> None:
        self.pod = LocalPod(a_pod(container), Path("/nowhere"), Path("/nowhere"), "10.244.1.2")
        self.pod.shim = cast(Shim, programs)
        self.pod.states = states(runs(started=time.time()))
        self.programs = programs
        self.events: list[tuple[str, str]] = []
        self.changes = 0
        self.prober = Prober(self.pod, self._announce, self._changed, lambda image: image == "stand-in")

    def _announce(self, pod: LocalPod, container: str, reason: str, message: str) -> None:
        self.events.append((reason, message))

    def _changed(self) -> None:
        self.changes += 1

    @property
    def verdict(self) -> Verdict:
        return self.pod.verdicts.get("main", Verdict())


def a_probe(command: str, **fields: Any) -> Obj:
    return {"exec": {"command": [command]}, **fields}


@pytest.fixture
def made() -> Iterator[list[Asked]]:
    asked: list[Asked] = []
    yield asked
    for one in asked:
        one.prober.stop()


async def after(asked: Asked, seconds: float, ending: bool = False) -> Asked:
    asked.prober.keep_up(ending)
    await asyncio.sleep(seconds)
    return asked


async def test_a_container_is_ready_after_its_first_success(made: list[Asked]) -> None:
    made.append(Asked(Programs(ok=[1, 0]), a_container(readinessProbe=a_probe("ok"))))
    asked = await after(made[0], 1)
    assert asked.verdict.readiness is None
    assert asked.events == [("Unhealthy", "Readiness probe failed: ")]
    await asyncio.sleep(10)
    assert asked.verdict.readiness is True
    assert asked.changes == 1


@pytest.mark.parametrize(("image", "ready", "asked"), [("stand-in", True, []), ("mpi-operator", None, ["ok"])])
async def test_only_what_does_nothing_is_ready_unasked(
    made: list[Asked], image: str, ready: bool | None, asked: list[str]
) -> None:
    made.append(Asked(Programs(ok=[1]), a_container(readinessProbe=a_probe("ok"), image=image)))
    one = await after(made[0], 1)
    assert (one.verdict.readiness, one.programs.asked) == (ready, asked)


async def test_three_failures_make_it_unready_and_it_is_asked_on(made: list[Asked]) -> None:
    made.append(Asked(Programs(ok=[0, 1, 1, 1, 0]), a_container(readinessProbe=a_probe("ok"))))
    asked = await after(made[0], 25)
    assert asked.verdict.readiness is True
    await asyncio.sleep(10)
    assert asked.verdict.readiness is False
    await asyncio.sleep(10)
    assert asked.verdict.readiness is True


async def test_a_verdict_of_death_is_the_last(made: list[Asked]) -> None:
    made.append(Asked(Programs(ok=[1]), a_container(livenessProbe=a_probe("ok"))))
    asked = await after(made[0], 3600)
    assert asked.verdict.liveness is False
    assert len(asked.programs.asked) == 3
    await after(asked, 3600)
    assert len(asked.programs.asked) == 3


async def test_the_others_wait_for_the_startup_probe(made: list[Asked]) -> None:
    probes: Obj = {"startupProbe": a_probe("up", periodSeconds=5), "livenessProbe": a_probe("ok")}
    made.append(Asked(Programs(up=[1, 1, 0], ok=[0]), a_container(**probes)))
    asked = await after(made[0], 9)
    assert asked.programs.asked == ["up", "up"]
    await asyncio.sleep(2)
    assert asked.programs.asked == ["up", "up", "up", "ok"]
    assert (asked.verdict.startup, asked.verdict.liveness) == (True, True)


async def test_one_that_a_former_agent_saw_start_is_not_asked_again(made: list[Asked]) -> None:
    probes: Obj = {"startupProbe": a_probe("up"), "readinessProbe": a_probe("ok")}
    made.append(Asked(Programs(up=[1], ok=[0]), a_container(**probes)))
    made[0].pod.status = {"containerStatuses": [{"name": "main", "started": True, "restartCount": 0}]}
    asked = await after(made[0], 1)
    assert asked.programs.asked == ["ok"]
    assert asked.verdict.startup is True


async def test_the_initial_delay_passes_first(made: list[Asked]) -> None:
    made.append(Asked(Programs(ok=[0]), a_container(readinessProbe=a_probe("ok", initialDelaySeconds=30))))
    asked = await after(made[0], 29)
    assert asked.programs.asked == []
    await asyncio.sleep(2)
    assert asked.programs.asked == ["ok"]


async def test_what_cannot_be_asked_is_no_verdict(made: list[Asked]) -> None:
    made.append(Asked(Programs(), a_container(livenessProbe=a_probe("ok"))))
    asked = await after(made[0], 60)
    assert asked.verdict.liveness is None
    message = "Liveness probe errored and resulted in unknown state: no such container"
    assert set(asked.events) == {("Unhealthy", message)}


async def test_a_container_that_is_gone_is_not_asked_and_its_next_attempt_is(made: list[Asked]) -> None:
    made.append(Asked(Programs(ok=[0]), a_container(readinessProbe=a_probe("ok"))))
    asked = await after(made[0], 1)
    asked.pod.states = {}
    await after(asked, 100)
    assert len(asked.programs.asked) == 1
    asked.pod.states = states(runs(attempt=1, started=time.time()))
    await after(asked, 1)
    assert len(asked.programs.asked) == 2


async def test_of_an_ending_pod_only_readiness_is_asked(made: list[Asked]) -> None:
    probes: Obj = {"livenessProbe": a_probe("alive"), "readinessProbe": a_probe("ok")}
    made.append(Asked(Programs(ok=[0], alive=[0]), a_container(**probes)))
    asked = await after(made[0], 1, ending=True)
    assert asked.programs.asked == ["ok"]


async def test_commands_may_refer_to_plain_variables(made: list[Asked]) -> None:
    container = a_container(readinessProbe=a_probe("$(WHAT)"), env=[{"name": "WHAT", "value": "ok"}])
    made.append(Asked(Programs(ok=[0]), container))
    assert (await after(made[0], 1)).programs.asked == ["ok"]
