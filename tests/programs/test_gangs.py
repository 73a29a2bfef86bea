# SPDX-License-Identifier: Apache-2.0
"""A group of pods gets its GPUs all at once or waits, on two nodes whose GPUs are few."""

from __future__ import annotations

import re

import pytest
from tests.programs.conftest import Start
from tests.programs.world import Cluster, node_of

pytestmark = pytest.mark.timeout(300)


def nodes(cluster: Cluster, gang: str) -> list[str]:
    return sorted(node_of(pod) for pod in cluster.pods(f"job-name={gang}").values())


@pytest.mark.parametrize(
    ("manifest", "kind"),
    [
        ("gang-volcano.yaml", "podgroups.scheduling.volcano.sh"),
        ("gang-scheduler-plugins.yaml", "podgroups.scheduling.x-k8s.io"),
    ],
)
def test_groups_get_their_gpus_all_or_nothing(started: Start, manifest: str, kind: str) -> None:
    cluster = started("--node", "a=cpu:4,nvidia.com/gpu:2", "--node", "b=cpu:4,nvidia.com/gpu:2")
    cluster.apply(manifest, GANG="first", SIZE="3")
    cluster.until_ready("job-name=first", 3)
    assert set(nodes(cluster, "first")) == {"a", "b"}
    given = [(node_of(pod), cluster.logs(name)) for name, pod in cluster.pods("job-name=first").items()]
    assert len(set(given)) == 3, f"two pods were given the same device: {given}"
    assert all(re.fullmatch(r"on [01]\n", words) for _, words in given), given

    # One GPU is left, two are wanted: neither of the two may take it.
    cluster.apply(manifest, GANG="second", SIZE="2")
    cluster.until(lambda: len(waiting(cluster, "second")) == 2, "both to say why they wait")
    assert nodes(cluster, "second") == ["", ""]
    assert cluster.get(kind, "second")["status"]["phase"] not in ("Running", "Finished")

    cluster.kubectl("delete", "job", "first")
    cluster.until_ready("job-name=second", 2)
    assert cluster.get(kind, "second")["status"]["phase"] == "Running"


def waiting(cluster: Cluster, gang: str) -> list[str]:
    """What the scheduler says of those that it could not place."""
    return [
        condition["message"]
        for pod in cluster.pods(f"job-name={gang}").values()
        for condition in pod["status"].get("conditions", ())
        if condition["type"] == "PodScheduled" and condition["status"] == "False"
    ]
