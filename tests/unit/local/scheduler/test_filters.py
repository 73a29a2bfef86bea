# SPDX-License-Identifier: Apache-2.0
"""Each filter by sentences: what a pod demands, what a node is, and the word of refusal."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from tests.unit.local.scheduler.things import (
    GPU,
    HOST,
    ZONE,
    a_node,
    a_pod,
    a_snapshot,
    company,
    node_affinity,
    spread,
)

from springtide.local.scheduler.placing import place
from springtide.local.scheduler.reasons import Unfit
from springtide.local.scheduler.state.nodes import Node
from springtide.local.scheduler.state.pods import Pod

DEDICATED = [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]
WEB = {"app": "web"}
PORT_80 = [{"hostPort": 80}]
TAKEN = "node(s) didn't have free ports for the requested pod ports"
MISMATCH = "node(s) didn't match Pod's node affinity/selector"
TAINTED = "node(s) had untolerated taint(s)"
UNEVEN = "node(s) didn't match pod topology spread constraints"


@dataclass(frozen=True)
class Case:
    pod: Pod
    node: Node = field(default_factory=a_node)
    there: tuple[Pod, ...] = ()
    says: str = ""
    others: tuple[Node, ...] = ()
    strict: bool = True


def expression(key: str, operator: str, *values: str) -> dict[str, object]:
    return {"key": key, "operator": operator, "values": list(values)}


CASES = {
    "a plain pod fits anywhere": Case(a_pod()),
    "cpu that is left fits": Case(a_pod(wants={"cpu": "2"}), there=(a_pod("q", {"cpu": "2"}),)),
    "cpu that is not left does not": Case(
        a_pod(wants={"cpu": "2100m"}), there=(a_pod("q", {"cpu": "2"}),), says="Insufficient cpu"
    ),
    "cpu and memory are advice unless the cluster is strict": Case(
        a_pod(wants={"cpu": "400", "memory": "1Ti", "ephemeral-storage": "9Ti"}), strict=False
    ),
    "gpus are never advice": Case(a_pod(wants={GPU: "1"}), strict=False, says=f"Insufficient {GPU}"),
    "gpus that are there fit": Case(a_pod(wants={GPU: "2"}), a_node(has={GPU: "2"})),
    "gpus in use do not": Case(
        a_pod(wants={GPU: "2"}), a_node(has={GPU: "2"}), (a_pod("q", {GPU: "1"}),), f"Insufficient {GPU}"
    ),
    "the number of pods is never advice": Case(
        a_pod(), a_node(has={"pods": "1"}), (a_pod("q"),), "Too many pods", strict=False
    ),
    "the largest init container counts": Case(
        a_pod(wants={"cpu": "1"}, initContainers=[{"resources": {"requests": {"cpu": "5"}}}]), says="Insufficient cpu"
    ),
    "sidecars add to the containers": Case(
        a_pod(
            wants={"cpu": "3"},
            initContainers=[{"restartPolicy": "Always", "resources": {"requests": {"cpu": "2"}}}],
        ),
        says="Insufficient cpu",
    ),
    "overhead counts": Case(a_pod(wants={"cpu": "4"}, overhead={"cpu": "1m"}), says="Insufficient cpu"),
    "the pod's own request wins over its containers'": Case(
        a_pod(wants={"cpu": "5"}, resources={"requests": {"cpu": "1"}})
    ),
    "a cordoned node is refused": Case(a_pod(), a_node(unschedulable=True), says="node(s) were unschedulable"),
    "unless that is tolerated": Case(
        a_pod(tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]),
        a_node(unschedulable=True),
    ),
    "a taint is refused": Case(a_pod(), a_node(taints=DEDICATED), says=TAINTED),
    "a tolerated one is not": Case(
        a_pod(tolerations=[{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]), a_node(taints=DEDICATED)
    ),
    "tolerating everything helps": Case(a_pod(tolerations=[{"operator": "Exists"}]), a_node(taints=DEDICATED)),
    "another value does not": Case(
        a_pod(tolerations=[{"key": "dedicated", "value": "y"}]), a_node(taints=DEDICATED), says=TAINTED
    ),
    "another effect does not": Case(
        a_pod(tolerations=[{"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}]),
        a_node(taints=DEDICATED),
        says=TAINTED,
    ),
    "preferring no pods refuses none": Case(a_pod(), a_node(taints=[{"key": "k", "effect": "PreferNoSchedule"}])),
    "a node selector that fits": Case(a_pod(nodeSelector={"disk": "ssd"}), a_node(labels={"disk": "ssd"})),
    "one that does not": Case(a_pod(nodeSelector={"disk": "ssd"}), a_node(labels={"disk": "hdd"}), says=MISMATCH),
    "affinity by number": Case(a_pod(affinity=node_affinity(expression("n", "Gt", "3"))), a_node(labels={"n": "4"})),
    "the number itself is not greater": Case(
        a_pod(affinity=node_affinity(expression("n", "Gt", "3"))), a_node(labels={"n": "3"}), says=MISMATCH
    ),
    "no label, no number": Case(a_pod(affinity=node_affinity(expression("n", "Lt", "3"))), says=MISMATCH),
    "an operator nobody knows matches nothing": Case(
        a_pod(affinity=node_affinity(expression("n", "Near", "3"))), says=MISMATCH
    ),
    "absence can be asked for": Case(a_pod(affinity=node_affinity(expression("n", "DoesNotExist")))),
    "a node by name": Case(a_pod(affinity=node_affinity(fields=[expression("metadata.name", "In", "a")]))),
    "any other node is out first": Case(
        a_pod(affinity=node_affinity(fields=[expression("metadata.name", "In", "z")])),
        a_node(unschedulable=True),
        says="node(s) didn't satisfy plugin(s) [NodeAffinity]",
    ),
    "any node but one": Case(
        a_pod(affinity=node_affinity(fields=[expression("metadata.name", "NotIn", "a")])), says=MISMATCH
    ),
    "a free host port": Case(a_pod(ports=PORT_80), there=(a_pod("q", ports=[{"hostPort": 81}]),)),
    "a taken one": Case(a_pod(ports=PORT_80), there=(a_pod("q", ports=PORT_80),), says=TAKEN),
    "the same port of another protocol is free": Case(
        a_pod(ports=PORT_80), there=(a_pod("q", ports=[{"hostPort": 80, "protocol": "UDP"}]),)
    ),
    "another address is free": Case(
        a_pod(ports=[{"hostPort": 80, "hostIP": "127.0.0.1"}]),
        there=(a_pod("q", ports=[{"hostPort": 80, "hostIP": "127.0.0.2"}]),),
    ),
    "every address includes each": Case(
        a_pod(ports=PORT_80), there=(a_pod("q", ports=[{"hostPort": 80, "hostIP": "127.0.0.2"}]),), says=TAKEN
    ),
    "near somebody": Case(a_pod(affinity=company("podAffinity", "web")), there=(a_pod("q", labels=WEB),)),
    "nobody to be near": Case(
        a_pod(affinity=company("podAffinity", "web")),
        there=(a_pod("q"),),
        says="node(s) didn't match pod affinity rules",
    ),
    "the first of its kind is near itself": Case(a_pod(labels=WEB, affinity=company("podAffinity", "web"))),
    "but not where the topology is unknown": Case(
        a_pod(labels=WEB, affinity=company("podAffinity", "web", ZONE)),
        says="node(s) didn't match pod affinity rules",
    ),
    "pods of other namespaces are not meant": Case(
        a_pod(affinity=company("podAffinity", "web")),
        there=(a_pod("q", labels=WEB, namespace="other"),),
        says="node(s) didn't match pod affinity rules",
    ),
    "unless they are named": Case(
        a_pod(affinity=company("podAffinity", "web", namespaces=["other"])),
        there=(a_pod("q", labels=WEB, namespace="other"),),
    ),
    "or any namespace will do": Case(
        a_pod(affinity=company("podAffinity", "web", namespaceSelector={})),
        there=(a_pod("q", labels=WEB, namespace="other"),),
    ),
    "apart from somebody who is there": Case(
        a_pod(affinity=company("podAntiAffinity", "web")),
        there=(a_pod("q", labels=WEB),),
        says="node(s) didn't match pod anti-affinity rules",
    ),
    "unwelcome to somebody who is there": Case(
        a_pod(labels=WEB),
        there=(a_pod("q", affinity=company("podAntiAffinity", "web")),),
        says="node(s) didn't satisfy existing pods anti-affinity rules",
    ),
    "even enough": Case(
        a_pod(labels=WEB, topologySpreadConstraints=spread("web", HOST)),
        a_node("a"),
        (a_pod("q"),),
    ),
    "nodes out of reach make nothing uneven": Case(
        a_pod(labels=WEB, topologySpreadConstraints=spread("web", HOST), nodeSelector={"pick": "me"}),
        a_node("a", labels={"pick": "me"}),
        (a_pod("q", labels=WEB),),
    ),
    "unless they are to be counted": Case(
        a_pod(
            labels=WEB,
            topologySpreadConstraints=spread("web", HOST, nodeAffinityPolicy="Ignore"),
            nodeSelector={"pick": "me"},
        ),
        a_node("a", labels={"pick": "me"}),
        (a_pod("q", labels=WEB),),
        UNEVEN,
        others=(a_node("b"),),
    ),
    "pods on their way out do not count": Case(
        a_pod(labels=WEB, topologySpreadConstraints=spread("web", HOST, nodeTaintsPolicy="Honor")),
        a_node("a"),
        (a_pod("q", labels=WEB, deleted="2026-01-01T00:00:00Z"),),
        others=(a_node("b", unschedulable=True),),
    ),
    "no topology label, no place": Case(
        a_pod(labels=WEB, topologySpreadConstraints=spread("web")),
        says=f"{UNEVEN} (missing required label)",
    ),
    "fewer domains than wanted": Case(
        a_pod(labels=WEB, topologySpreadConstraints=spread("web", HOST, minDomains=2)),
        a_node("a"),
        (a_pod("q", labels=WEB),),
        UNEVEN,
    ),
}


@pytest.mark.parametrize("sentence", CASES)
def test_filter(sentence: str) -> None:
    case = CASES[sentence]
    snapshot = a_snapshot(case.node, *case.others, pods={case.node.name: case.there}, strict=case.strict)
    snapshot.namespaces |= {"default": {}, "other": {}}
    found = place(case.pod, snapshot)
    if not case.says:
        assert not isinstance(found, Unfit), found.text()
        assert found.node.name == case.node.name
    else:
        assert isinstance(found, Unfit)
        assert found.refusals[case.node.name].reasons == (case.says,)


def test_only_what_fewer_pods_could_change_is_curable() -> None:
    nodes = (a_node("full"), a_node("small", {"cpu": "1"}), a_node("tainted", taints=DEDICATED))
    snapshot = a_snapshot(*nodes, pods={"full": [a_pod("q", {"cpu": "3"})]})
    found = place(a_pod(wants={"cpu": "2"}), snapshot)
    assert isinstance(found, Unfit)
    assert found.curable == ["full"]


def test_names_that_exclude_each_other_fit_nowhere() -> None:
    fields = [expression("metadata.name", "In", "a"), expression("metadata.name", "In", "b")]
    found = place(a_pod(affinity=node_affinity(fields=fields)), a_snapshot(a_node("a"), a_node("b")))
    assert isinstance(found, Unfit)
    assert found.text() == "0/2 nodes are available: pod affinity terms conflict."
