# SPDX-License-Identifier: Apache-2.0
"""Programs of many pods that find each other by name and use the same ports side by side."""

from __future__ import annotations

import pytest
from tests.programs.conftest import Start
from tests.programs.world import Cluster

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def cluster(user: str, started: Start) -> Cluster:
    cluster = started("--node", "a", "--node", "b", user=user)
    cluster.config_map("program", "exchange.py", "group.py")
    return cluster


def lines_of(cluster: Cluster, job: str) -> list[str]:
    printed = cluster.kubectl("logs", "-l", f"job-name={job}", "--tail=-1", "--max-log-requests=20")
    return sorted(printed.splitlines(), key=lambda line: int(line.split()[1]))


def test_twenty_peers_talk_to_all_others_on_one_port(cluster: Cluster) -> None:
    cluster.apply("exchange.yaml")
    cluster.until_job_is_done("exchange")
    found = [line.rpartition(" ") for line in lines_of(cluster, "exchange")]
    assert [line for line, _, _ in found] == [f"peer {index} total {190 * index} front" for index in range(20)]
    assert all(int(seen) > 1 for _, _, seen in found), "the service led everybody to one peer only"
    nodes = {pod["spec"]["nodeName"] for pod in cluster.pods("job-name=exchange").values()}
    assert nodes == {"a", "b"}


def test_two_groups_use_the_same_ports_side_by_side(cluster: Cluster) -> None:
    groups = {"red": 1, "blue": 100}
    for name, gift in groups.items():
        cluster.apply("group.yaml", GROUP=name, GIFT=str(gift))
    for name, gift in groups.items():
        cluster.until_job_is_done(name)
        tokens = [f"{name}-1-2-3", name, f"{name}-1", f"{name}-1-2"]
        expected = [f"replica {rank} total {4 * gift} token {tokens[rank]}" for rank in range(4)]
        assert lines_of(cluster, name) == expected
