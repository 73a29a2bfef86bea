# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.unit.kube.fake_api import FakeApi

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.leader import LeaderElector, LeadershipLost, Terms
from springtide.kube.resources import LEASES, Key, Obj

pytestmark = pytest.mark.looptime

LEASE = Key("kube-system", "test")
PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/test"
THEN = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)


class Lead:
    """What a leader does: notes when it begins and ends."""

    def __init__(self, lasts: float = 1e9) -> None:
        self.lasts = lasts
        self.began: float | None = None
        self.ended: float | None = None

    async def __call__(self) -> None:
        self.began = asyncio.get_running_loop().time()
        try:
            await asyncio.sleep(self.lasts)
        finally:
            self.ended = asyncio.get_running_loop().time()


def elector(client: Client, identity: str) -> LeaderElector:
    start = asyncio.get_running_loop().time()
    return LeaderElector(
        client,
        LEASE,
        identity,
        Terms(),
        lambda: THEN + timedelta(seconds=int(asyncio.get_running_loop().time() - start)),
    )


def spec(api: FakeApi) -> dict[str, Any]:
    found: dict[str, Any] = api.objects[PATH]["spec"]
    return found


async def stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait((task,))


async def test_the_first_candidate_leads_at_once_and_lets_go_at_the_end(api: FakeApi, client: Client) -> None:
    lead = Lead(lasts=1)
    candidate = elector(client, "a")
    task = asyncio.create_task(candidate.run(lead))
    await asyncio.sleep(0.5)
    assert candidate.leading
    assert spec(api) == {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-02T03:04:05.000678Z",
        "renewTime": "2026-01-02T03:04:05.000678Z",
        "leaseTransitions": 0,
    }
    await task
    assert (spec(api)["holderIdentity"], spec(api)["leaseDurationSeconds"]) == ("", 1)
    assert not candidate.leading


async def test_the_lease_is_renewed_with_one_request_each_time(api: FakeApi, client: Client) -> None:
    task = asyncio.create_task(elector(client, "a").run(Lead()))
    await asyncio.sleep(1)
    api.requests.clear()
    await asyncio.sleep(60)
    assert set(api.methods()) == {"PUT"}
    assert len(api.requests) == 30
    await stopped(task)


async def test_a_second_candidate_waits_and_takes_over_when_the_first_lets_go(api: FakeApi, client: Client) -> None:
    first, second = Lead(lasts=100), Lead()
    tasks = [asyncio.create_task(elector(client, "a").run(first))]
    await asyncio.sleep(1)
    tasks.append(asyncio.create_task(elector(client, "b").run(second)))
    await asyncio.sleep(90)
    assert second.began is None
    await asyncio.sleep(20)
    assert first.ended is not None
    assert second.began is not None
    assert first.ended <= second.began <= first.ended + 6
    assert (spec(api)["holderIdentity"], spec(api)["leaseTransitions"]) == ("b", 1)
    await stopped(tasks[1])


async def test_a_dead_leaders_lease_is_taken_once_it_has_not_changed_for_its_duration(
    api: FakeApi, client: Client
) -> None:
    # Times written by another machine, decades off: they must not matter.
    dead = {"holderIdentity": "dead", "leaseDurationSeconds": 15, "renewTime": "2099-01-01T00:00:00.000000Z"}
    api.put(LEASES, LEASE, spec=dead)
    lead = Lead()
    start = asyncio.get_running_loop().time()
    task = asyncio.create_task(elector(client, "a").run(lead))
    await asyncio.sleep(30)
    assert lead.began is not None
    assert 15 <= lead.began - start <= 20
    await stopped(task)


async def test_a_leader_cut_off_from_the_server_stops_before_another_may_start(api: FakeApi, client: Client) -> None:
    lead = Lead()
    task = asyncio.create_task(elector(client, "a").run(lead))
    await asyncio.sleep(1)
    cut = asyncio.get_running_loop().time()
    api.offline = True
    with pytest.raises(LeadershipLost):
        await task
    assert lead.ended is not None
    assert lead.ended - cut <= 10


async def test_a_server_that_never_answers_counts_as_cut_off(api: FakeApi, client: Client) -> None:
    lead = Lead()
    task = asyncio.create_task(elector(client, "a").run(lead))
    await asyncio.sleep(1)
    cut = asyncio.get_running_loop().time()

    async def hang(request: object) -> Any:
        await asyncio.sleep(1e6)

    api.send = hang  # type: ignore[method-assign]
    with pytest.raises(LeadershipLost):
        await task
    assert lead.ended is not None
    assert lead.ended - cut <= 10


async def test_a_short_outage_costs_no_leadership(api: FakeApi, client: Client) -> None:
    lead = Lead()
    task = asyncio.create_task(elector(client, "a").run(lead))
    await asyncio.sleep(1)
    api.offline = True
    await asyncio.sleep(6)
    api.offline = False
    await asyncio.sleep(60)
    assert lead.ended is None
    assert spec(api)["leaseTransitions"] == 0
    await stopped(task)


async def test_a_leader_whose_lease_somebody_else_took_steps_down(api: FakeApi, client: Client) -> None:
    lead = Lead()
    task = asyncio.create_task(elector(client, "a").run(lead))
    await asyncio.sleep(1)
    api.put(LEASES, LEASE, spec={"holderIdentity": "b", "leaseDurationSeconds": 15})
    with pytest.raises(LeadershipLost):
        await task
    assert spec(api)["holderIdentity"] == "b"


async def test_a_lease_that_somebody_annotated_is_renewed_all_the_same(api: FakeApi, client: Client) -> None:
    lead = Lead()
    task = asyncio.create_task(elector(client, "a").run(lead))
    await asyncio.sleep(1)
    api.put(LEASES, LEASE, spec=spec(api), metadata={"annotations": {"seen": "yes"}})
    await asyncio.sleep(60)
    assert lead.ended is None
    assert api.objects[PATH]["metadata"]["annotations"] == {"seen": "yes"}
    await stopped(task)


async def test_of_many_candidates_never_two_lead(api: FakeApi, client: Client) -> None:
    leads = [Lead(lasts=3) for _ in range(5)]
    await asyncio.gather(*(elector(client, str(number)).run(lead) for number, lead in enumerate(leads)))
    terms = sorted((lead.began or 0, lead.ended or 0) for lead in leads)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(terms))


async def test_cancelling_stops_leading_and_lets_go(api: FakeApi, client: Client) -> None:
    lead = Lead()
    task = asyncio.create_task(elector(client, "a").run(lead))
    await asyncio.sleep(1)
    await stopped(task)
    assert task.cancelled()
    assert lead.ended is not None
    assert spec(api)["holderIdentity"] == ""


async def test_an_error_of_the_led_work_comes_out_and_the_lease_is_free(api: FakeApi, client: Client) -> None:
    async def lead() -> None:
        raise ValueError("a mistake")

    with pytest.raises(ValueError, match="a mistake"):
        await elector(client, "a").run(lead)
    assert spec(api)["holderIdentity"] == ""


@pytest.mark.parametrize("terms", [(10, 10, 2), (15, 2, 2), (15, 10, 0)])
def test_terms_that_could_make_two_leaders_are_refused(terms: tuple[int, float, float]) -> None:
    with pytest.raises(ValueError, match="duration"):
        Terms(*terms)


async def test_a_namespace_that_is_not_there_is_complained_about(
    api: FakeApi, client: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def missing(*_: object) -> Obj:
        raise errors.NotFound('namespaces "kube-system" not found')

    monkeypatch.setattr(client, "create", missing)
    running = asyncio.create_task(elector(client, "a").run(Lead()))
    await asyncio.sleep(1)
    await stopped(running)
    assert 'Cannot take or renew the lease kube-system/test: namespaces "kube-system" not found' in caplog.messages
