# SPDX-License-Identifier: Apache-2.0
"""Which changes of pods the taint eviction controller works on."""

from __future__ import annotations

from typing import cast

import pytest
from tests.unit.local.controller_manager.nodes.node_objects import a_node, a_pod, a_taint

from springtide.kube.client import Client
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.resources import NODES, Key
from springtide.local.controller_manager import views
from springtide.local.controller_manager.nodes.taint_eviction import TaintEviction
from springtide.local.controller_manager.views import PodView

NO_CLIENT, NO_RECORDER = cast(Client, None), cast(EventRecorder, None)
NODE, POD = Key("", "n"), Key("ns", "p")
EVICTING = a_node("True", a_taint("maintenance", "NoExecute"))


@pytest.mark.parametrize(
    ("pod", "queued"),
    [
        pytest.param(a_pod(node=""), 0, id="not bound"),
        pytest.param(a_pod(node="m"), 0, id="on a node without an evicting taint"),
        pytest.param(a_pod(node="n"), 1, id="on a tainted node"),
    ],
)
async def test_only_pods_on_tainted_nodes_are_reconciled(pod: PodView, queued: int) -> None:
    informers = Informers(NO_CLIENT)
    eviction = TaintEviction(informers, NO_CLIENT, NO_RECORDER)
    nodes = {NODE: ("1", EVICTING), Key("", "m"): ("1", a_node("True", a_taint("busy", "NoSchedule")))}
    await informers.of(NODES)._fill(nodes, "1")
    await views.pods(informers)._fill({POD: ("1", pod)}, "1")
    assert len(eviction.controller.queue) == queued


async def test_a_new_taint_concerns_the_pods_that_are_on_the_node() -> None:
    informers = Informers(NO_CLIENT)
    eviction = TaintEviction(informers, NO_CLIENT, NO_RECORDER)
    await views.pods(informers)._fill({POD: ("1", a_pod(node="n"))}, "1")
    assert not len(eviction.controller.queue)
    await informers.of(NODES)._fill({NODE: ("1", EVICTING)}, "1")
    assert await eviction.controller.queue.get() == POD
