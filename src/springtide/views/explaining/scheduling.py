# SPDX-License-Identifier: Apache-2.0
"""Pods that no node takes: a resource that no node offers or has free, taints, selectors, gangs.

The scheduler's message counts nodes by their first obstacle. Which obstacle has to be removed is decided from the nodes
themselves, where the user may read them: of nodes that are large enough, it is the one that most of them have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from springtide.api.quantity import Quantity
from springtide.messages import text
from springtide.views.explaining import reading, requests, taints
from springtide.views.explaining.evidence import Cause, Evidence, Fact, Obj
from springtide.views.explaining.reading import Held

_GANG: Final = re.compile(r"in gang unschedulable|pod group|PodGroup|minMember|minAvailable", re.IGNORECASE)
_GANG_COUNT: Final = re.compile(r"(\d+) minAvailable")
_SHORT: Final = re.compile(r"\d+ Insufficient ([^\s,.]+(?:\.[^\s,.]+)*)")
_TAINTED: Final = "untolerated taint"
_SELECTED: Final = "node affinity/selector"
_NOTHING: Final = Quantity(0)
_FEW: Final = 3


def no_nodes(evidence: Evidence) -> Cause | None:
    held = reading.unplaced(evidence)
    if not held or evidence.nodes is None or evidence.nodes:
        return None
    command = reading.command_in(held[0].message) or "tide node add worker-1"
    if not evidence.embedded:
        command = "kubectl get nodes"
    return Cause("NoNodes", text("the cluster has no nodes"), (held[0].fact,), command)


def no_such_resource(evidence: Evidence) -> Cause | None:
    """A resource that no node offers at all, such as a GPU."""
    held = _of_nodes(evidence)
    for each in held:
        for resource, amount in requests.of(each.pod).items():
            if "/" in resource and _short_of(evidence, each, resource) and not _offered(evidence, resource):
                pods = [other.pod for other in held if resource in requests.of(other.pod)]
                why = text(
                    "no node of the cluster offers {resource}; {who} requests {amount}",
                    resource=resource,
                    who=reading.who(pods),
                    amount=str(amount),
                )
                if len(pods) > 1:
                    why = text(
                        "no node of the cluster offers {resource}; {who} request {amount} each",
                        resource=resource,
                        who=reading.who(pods),
                        amount=str(amount),
                    )
                command = reading.command_in(each.message) or _RESOURCES
                return Cause("NoSuchResource", why, (each.fact, *_asked(each.pod, resource)), command)
    return None


_RESOURCES: Final = "kubectl describe nodes"


def too_large(evidence: Evidence) -> Cause | None:
    """A pod that fits on no node, even an empty one."""
    for each in _of_nodes(evidence):
        for resource, amount in requests.of(each.pod).items():
            most = max(_offers(evidence, resource), key=lambda found: found[1].nanos, default=None)
            if most is not None and most[1].nanos < amount.nanos:
                why = text(
                    "{pod} requests {amount} {resource}, and the largest node, {node}, has {most} in all",
                    pod=reading.name(each.pod),
                    amount=str(amount),
                    resource=resource,
                    node=most[0],
                    most=str(most[1]),
                )
                offer = Fact(f"node/{most[0]}", "status.allocatable", f"{resource}: {most[1]}")
                return Cause("TooLarge", why, (each.fact, *_asked(each.pod, resource), offer), "tide top node")
    return None


def tainted(evidence: Evidence) -> Cause | None:
    """Nodes that are large enough, and whose taints the pod does not tolerate."""
    for each in _of_nodes(evidence):
        if _TAINTED not in each.message and "unschedulable" not in each.message:
            continue
        nodes = [node for node in evidence.nodes or () if _large_enough(node, each.pod)]
        repelling = [(node, taint) for node in nodes if (taint := taints.untolerated(each.pod, node)) is not None]
        if evidence.nodes is None:
            why = text("{who} tolerates no taint of the nodes", who=reading.name(each.pod))
            return Cause("Taint", why, (each.fact,), "kubectl describe nodes")
        open_ = [node for node in nodes if not any(node is other for other, _ in repelling)]
        if not repelling or len(open_) > len(repelling):
            continue
        return _taint(each, repelling)
    return None


def _taint(held: Held, repelling: Sequence[tuple[Obj, Obj]]) -> Cause:
    (node, taint), count = repelling[0], len(repelling)
    shown, of_node = taints.shown(taint), reading.name(node)
    facts = [Fact(f"node/{reading.name(each)}", "spec.taints", taints.shown(its)) for each, its in repelling[:_FEW]]
    if taint.get("key") == taints.CORDONED:
        why = text("node {node} takes no new pods: it is cordoned", node=of_node)
        if count > 1:
            why = text("{count} nodes take no new pods: they are cordoned", count=count)
        return Cause("Cordoned", why, (held.fact, *facts), f"kubectl uncordon {of_node}")
    pod = reading.name(held.pod)
    why = text("node {node} has the taint {taint}, which {pod} does not tolerate", node=of_node, taint=shown, pod=pod)
    if count > 1:
        why = text(
            "{count} nodes have taints such as {taint}, which {pod} does not tolerate",
            count=count,
            taint=shown,
            pod=pod,
        )
    if str(taint.get("key", "")).startswith(taints.OF_KUBERNETES):
        return Cause("Taint", why, (held.fact, *facts), f"kubectl describe node {of_node}")
    return Cause("Taint", why, (held.fact, *facts), f"kubectl taint node {of_node} {taints.removal(taint)}")


def not_selected(evidence: Evidence) -> Cause | None:
    for each in _of_nodes(evidence):
        wanted = (each.pod.get("spec") or {}).get("nodeSelector") or {}
        if _SELECTED not in each.message or _SHORT.search(each.message):
            continue
        fits = [node for node in evidence.nodes or () if wanted.items() <= _labels(node).items()]
        if fits and wanted:
            continue
        shown = ",".join(f"{key}={value}" for key, value in sorted(wanted.items()))
        why = text("no node has the labels that {pod} asks for", pod=reading.name(each.pod))
        if shown:
            why = text("no node has the labels {labels} that {pod} asks for", labels=shown, pod=reading.name(each.pod))
        facts = (Fact(f"pod/{reading.name(each.pod)}", "spec.nodeSelector", shown),) if shown else ()
        return Cause("NodeSelector", why, (each.fact, *facts), "kubectl get nodes --show-labels")
    return None


def gang(evidence: Evidence) -> Cause | None:
    """Pods that are placed all at once or not at all."""
    held = [each for each in reading.unplaced(evidence) if _GANG.search(each.message)]
    group = _group(evidence)
    all_held = reading.unplaced(evidence)
    if not held and not (group and any(_SHORT.search(each.message) for each in all_held)):
        return None
    first = (held or all_held)[0]
    least = _least(evidence, held)
    why = text("its pods start all at once or not at all, and not all of them fit at the same time")
    if least:
        why = text(
            "its pods start as a gang of {least}, and the nodes have no room for {least} of them at the same time",
            least=least,
        )
    more = [each.fact for each in all_held if each is not first][:_FEW]
    command = f"kubectl describe podgroup {group or evidence.name} -n {evidence.namespace}"
    return Cause("Gang", why, (first.fact, *more), command)


def _group(evidence: Evidence) -> str:
    """The PodGroup that the pods name."""
    for pod in evidence.pods:
        labels = {**(pod["metadata"].get("annotations") or {}), **(pod["metadata"].get("labels") or {})}
        for key in _GROUP_LABELS:
            if labels.get(key):
                return str(labels[key])
    return ""


_GROUP_LABELS: Final = (
    "scheduling.x-k8s.io/pod-group",
    "scheduling.k8s.io/group-name",
    "pod-group.scheduling.sigs.k8s.io/name",
    "pod-group.scheduling.sigs.k8s.io",
)


def _least(evidence: Evidence, held: Sequence[Held]) -> int:
    for each in held:
        if found := _GANG_COUNT.search(each.message):
            return int(found[1])
    asked = (evidence.run_policy.get("schedulingPolicy") or {}).get("minAvailable")
    return int(asked) if isinstance(asked, int) else 0


def in_use(evidence: Evidence) -> Cause | None:
    """Resources that other pods hold now."""
    for each in _of_nodes(evidence):
        for resource in _SHORT.findall(each.message):
            amount = requests.of(each.pod).get(resource)
            if amount is None:
                continue
            why = text(
                "no node has {amount} {resource} free, which {pod} requests",
                amount=str(amount),
                resource=resource,
                pod=reading.name(each.pod),
            )
            return Cause("InUse", why, (each.fact, *_holders(evidence, resource)), "tide top node")
    return None


def otherwise_unplaced(evidence: Evidence) -> Cause | None:
    """What the scheduler says, where nothing above applies."""
    held = reading.unplaced(evidence)
    if not held:
        return None
    said = reading.clause(held[0].message) or held[0].reason
    why = text("no node takes {who}: {said}", who=reading.who([each.pod for each in held]), said=said)
    command = f"kubectl describe pod {reading.name(held[0].pod)} -n {evidence.namespace}"
    return Cause("Unschedulable", why, (held[0].fact,), command)


def _of_nodes(evidence: Evidence) -> list[Held]:
    """Pods about whose nodes the scheduler says something. Members of a gang that fit alone are not among them."""
    return [each for each in reading.unplaced(evidence) if "nodes are available" in each.message]


def _short_of(evidence: Evidence, held: Held, resource: str) -> bool:
    named = resource in _SHORT.findall(held.message)
    return named or (evidence.nodes is not None and bool(evidence.nodes) and not _offered(evidence, resource))


def _offered(evidence: Evidence, resource: str) -> bool:
    """True if it is not known that no node does."""
    return not evidence.nodes or any(offer.nanos for _, offer in _offers(evidence, resource))


def _offers(evidence: Evidence, resource: str) -> list[tuple[str, Quantity]]:
    found = ((node, _allocatable(node).get(resource)) for node in evidence.nodes or ())
    return [(reading.name(node), amount) for node, amount in found if amount is not None]


def _allocatable(node: Obj) -> Mapping[str, Quantity]:
    return requests.amounts((node.get("status") or {}).get("allocatable") or {})


def _large_enough(node: Obj, pod: Obj) -> bool:
    offers = _allocatable(node)
    return all(offers.get(name, _NOTHING).nanos >= wanted.nanos for name, wanted in requests.of(pod).items())


def _labels(node: Obj) -> Mapping[str, str]:
    return node["metadata"].get("labels") or {}


def _asked(pod: Obj, resource: str) -> Iterable[Fact]:
    for each in reading.containers(pod):
        named = each.get("resources") or {}
        amount = (named.get("requests") or {}).get(resource) or (named.get("limits") or {}).get(resource)
        if amount is not None:
            field = f"spec.containers[{each['name']}].resources"
            return [Fact(f"pod/{reading.name(pod)}", field, f"{resource}: {amount}")]
    return []


def _holders(evidence: Evidence, resource: str) -> list[Fact]:
    """The pods that hold most of it."""
    held = []
    for pod in evidence.neighbours or ():
        amount = requests.of(pod).get(resource)
        if amount is not None and amount.nanos and reading.node_of(pod) and not reading.ended(pod):
            held.append((amount, pod))
    held.sort(key=lambda each: each[0].nanos, reverse=True)
    return [
        Fact(
            f"pod/{reading.name(pod)}",
            "spec.nodeName",
            text(
                "holds {amount} {resource} on node {node} (namespace {namespace})",
                amount=str(amount),
                resource=resource,
                node=reading.node_of(pod),
                namespace=str(pod["metadata"].get("namespace")),
            ),
        )
        for amount, pod in held[:_FEW]
    ]
