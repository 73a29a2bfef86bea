# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from tests.unit.local.admission.builders import World, a_pod, a_request

from springtide.local.admission.chain import Chain
from springtide.local.admission.plugins import Surroundings, default_chain
from springtide.local.admission.quotas import Charge
from springtide.local.admission.request import AdmissionRequest
from springtide.local.admission.webhook_calls import Endpoint


class Noting:
    """A plugin that writes down when it runs, and for pods only."""

    def __init__(self, name: str, notes: list[str]) -> None:
        self.name, self.notes = name, notes
        self.questions = 0

    def handles(self, operation: str, storage: str, subresource: str) -> bool:
        self.questions += 1
        return storage == "pods"

    async def admit(self, request: AdmissionRequest) -> None:
        self.notes.append(self.name)


async def test_plugins_run_in_order_and_only_where_they_belong() -> None:
    notes: list[str] = []
    chain = Chain([Noting("a", notes), Noting("b", notes)], [Noting("c", notes)])
    await chain.mutate(a_request(a_pod()))
    await chain.validate(a_request(a_pod()))
    await chain.admit(a_request(None, "configmaps", "ConfigMap", operation="DELETE"))
    assert notes == ["a", "b", "c"]


async def test_a_plugin_is_asked_once_per_kind_of_request() -> None:
    plugin = Noting("a", [])
    chain = Chain([plugin], [])
    for _ in range(3):
        await chain.mutate(a_request(a_pod()))
    assert plugin.questions == 1


async def reserve(charge: Charge) -> bool:
    return True


async def call(endpoint: Endpoint, body: bytes, seconds: int) -> bytes:
    raise AssertionError("nobody to call")


async def test_a_pod_goes_through_the_whole_chain() -> None:
    world = World(
        ("namespaces", {"metadata": {"name": "default"}}),
        ("serviceaccounts", {"metadata": {"name": "default", "namespace": "default"}}),
    )
    chain = default_chain(Surroundings(world, reserve, call, lambda group, resource: ("v1",)))
    pod = a_pod()
    await chain.mutate(a_request(pod))
    await chain.validate(a_request(pod))
    spec = pod["spec"]
    assert (spec["serviceAccountName"], spec["priority"], len(spec["tolerations"])) == ("default", 0, 2)
    assert spec["containers"][0]["volumeMounts"][0]["name"] == spec["volumes"][0]["name"]
