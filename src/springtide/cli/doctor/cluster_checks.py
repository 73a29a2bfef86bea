# SPDX-License-Identifier: Apache-2.0
"""What jobs need of a cluster, and what this user may do there, each asked of the API server. `tide doctor --cluster`
runs these in order.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import springtide
from springtide.api.kinds.registry import DEFINED, RESOURCES
from springtide.cli.jobs import evidence
from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.request import Request
from springtide.kube.resources import CUSTOMRESOURCEDEFINITIONS, NODES, STORAGECLASSES, Key, Obj, Resource
from springtide.messages import Text, text
from springtide.views.explaining import reading, requests

REVIEWS: Final = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)
GPU: Final = "nvidia.com/gpu"
_SKEW: Final = 3
"""The number of minor versions by which the server may differ from the one that is followed, without a warning."""
_DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"
_FEW: Final = 5


@dataclass(frozen=True, slots=True)
class Finding:
    said: Text
    fix: Text | None = None
    """None if all is well."""
    needed: bool = False
    """Whether jobs do not run without it."""

    @property
    def mark(self) -> str:
        return "✓" if self.fix is None else "✗" if self.needed else "!"


@dataclass(slots=True)
class Cluster:
    client: Client
    namespace: str
    server: str
    nodes: list[Obj] | None = field(default=None)
    """As read by the first check that needs them."""

    async def all_nodes(self) -> list[Obj]:
        """Empty if the user may not read them."""
        if self.nodes is None:
            try:
                self.nodes = (await self.client.list(NODES)).items
            except errors.Forbidden:
                self.nodes = []
        return self.nodes


async def version(cluster: Cluster) -> Finding:
    """The one check whose error ends the command: without an answer the others make no sense."""
    answer = await cluster.client.document(Request("GET", "/version"))
    given = str(answer.get("gitVersion") or "?")
    said = text("{server} answers; it is Kubernetes {version}", server=cluster.server, version=given)
    if abs(_minor(given) - _minor(springtide.KUBERNETES_VERSION)) > _SKEW:
        fix = text(
            "Springtide follows {followed}; use a release of it that is nearer to the cluster's version",
            followed=springtide.KUBERNETES_VERSION,
        )
        return Finding(said, fix)
    return Finding(said)


async def definitions(cluster: Cluster) -> Finding:
    """The CRDs, and whether they are of this release: CRDs of other projects have no `explanation` in their status."""
    missing, foreign = [], []
    for each in DEFINED:
        name = f"{each.plural}.{each.group}"
        try:
            found = await cluster.client.find(CUSTOMRESOURCEDEFINITIONS, Key("", name))
        except errors.Forbidden:
            return Finding(
                text("it is not known which CRDs are installed: you may not read them"),
                text(
                    "ask the cluster's administrator for this right: {rights}", rights="get customresourcedefinitions"
                ),
            )
        if found is None:
            missing.append(name)
        elif each in RESOURCES and not _is_ours(found):
            foreign.append(name)
    if missing:
        said = text("CRDs are missing: {names}", names=", ".join(missing))
        return Finding(said, text("install them: {command}", command=_INSTALL), needed=True)
    if foreign:
        said = text("CRDs are of another project or release: {names}", names=", ".join(foreign))
        return Finding(said, text("upgrade them: {command}", command=_INSTALL))
    return Finding(text("all {count} CRDs are installed", count=len(DEFINED)))


_INSTALL: Final = "kubectl apply --server-side -f deploy/crds"


def _is_ours(definition: Obj) -> bool:
    for each in definition["spec"].get("versions") or ():
        schema = ((each.get("schema") or {}).get("openAPIV3Schema") or {}).get("properties") or {}
        if "explanation" in ((schema.get("status") or {}).get("properties") or {}):
            return True
    return False


async def operator(cluster: Cluster) -> Finding:
    found = await evidence.operator(cluster.client, datetime.now(UTC))
    if found is None:
        said = text("it is not known whether an operator runs: you may read neither leases nor pods of all namespaces")
        return Finding(said, text("ask the cluster's administrator for this right: {rights}", rights="list leases"))
    where = text("{object}: {said}", object=found.fact.object, said=found.fact.said)
    if found.alive:
        return Finding(text("an operator runs ({where})", where=where))
    command = "tide operator" if not evidence.is_embedded(await cluster.all_nodes()) else "tide status"
    said = text("no operator runs, so that no job starts ({where})", where=where)
    return Finding(said, text("start it, or see why it does not run: {command}", command=command), needed=True)


async def rights(cluster: Cluster) -> Finding:
    lacking = [
        f"{verb} {resource}" for verb, group, resource in _RIGHTS if not await _may(cluster, verb, group, resource)
    ]
    where = cluster.namespace
    if lacking:
        said = text("you may not do all that tide does in namespace {namespace}", namespace=where)
        return Finding(
            said, text("ask the cluster's administrator for these rights: {rights}", rights=", ".join(lacking))
        )
    return Finding(text("you may do all that tide does in namespace {namespace}", namespace=where))


_JOBS: Final = tuple((each.group, each.plural) for each in RESOURCES)
_SCALERS: Final = tuple((each.group, each.plural) for each in DEFINED if each not in RESOURCES)
_RIGHTS: Final = (
    *((verb, group, plural) for group, plural in _JOBS for verb in ("list", "create", "patch", "delete")),
    *(("create", group, plural) for group, plural in _SCALERS),
    ("list", "", "pods"),
    ("get", "", "pods/log"),
    ("create", "", "pods/exec"),
    ("create", "", "pods/portforward"),
    ("list", "", "events"),
    *((verb, "", plural) for plural in ("configmaps", "secrets", "services") for verb in ("create", "delete")),
    ("create", "apps", "deployments"),
)
"""What the verbs of `tide` do in a namespace."""


async def _may(cluster: Cluster, verb: str, group: str, resource: str) -> bool:
    plural, _, subresource = resource.partition("/")
    asked = {"namespace": cluster.namespace, "verb": verb, "group": group, "resource": plural}
    asked |= {"subresource": subresource} if subresource else {}
    review = {
        "apiVersion": REVIEWS.api_version,
        "kind": REVIEWS.kind,
        "metadata": {},
        "spec": {"resourceAttributes": asked},
    }
    answer = await cluster.client.create(REVIEWS, review)
    return bool((answer.get("status") or {}).get("allowed"))


async def nodes(cluster: Cluster) -> Finding:
    found = await cluster.all_nodes()
    if not found:
        fix = text("add one: {command}", command="tide node add worker-1")
        return Finding(text("the cluster has no nodes, or you may not read them"), fix)
    silent = [reading.name(node) for node in found if (reading.condition(node, "Ready") or {}).get("status") != "True"]
    if silent:
        said = text(
            "{count} of {total} nodes are not ready: {names}",
            count=len(silent),
            total=len(found),
            names=", ".join(silent[:_FEW]),
        )
        fix = text("see why: {command}", command=f"kubectl describe node {silent[0]}")
        return Finding(said, fix, needed=len(silent) == len(found))
    if len(found) == 1:
        return Finding(text("the node is ready"))
    return Finding(text("all {count} nodes are ready", count=len(found)))


async def gpus(cluster: Cluster) -> Finding:
    found = await cluster.all_nodes()
    offers = [requests.amounts((node.get("status") or {}).get("allocatable") or {}).get(GPU) for node in found]
    count = sum(each.nanos // 10**9 for each in offers if each is not None)
    if count:
        on = sum(each is not None and each.nanos > 0 for each in offers)
        return Finding(text("{count} GPUs on {nodes} nodes", count=count, nodes=on))
    fix = text("install the device plugin of your GPUs, if the nodes have any")
    if evidence.is_embedded(found):
        fix = text("to try jobs that ask for GPUs: {command}", command=f"tide node add gpu-1={GPU}:8")
    return Finding(text("no node offers {resource}", resource=GPU), fix)


async def storage(cluster: Cluster) -> Finding:
    try:
        found = (await cluster.client.list(STORAGECLASSES)).items
    except errors.Forbidden:
        found = []
    names = [
        reading.name(each) for each in found if (each["metadata"].get("annotations") or {}).get(_DEFAULT) == "true"
    ]
    if names:
        return Finding(text("volume claims get storage class {name} by default", name=names[0]))
    fix = text("name a storage class in each volume claim: {command}", command="kubectl get storageclass")
    return Finding(text("no storage class is the default one"), fix)


async def metrics(cluster: Cluster) -> Finding:
    try:
        await cluster.client.raw(Request("GET", "/apis/metrics.k8s.io/v1beta1", {}))
    except errors.ApiError as error:
        if isinstance(error, errors.Unreachable):
            raise
        fix = text("install metrics-server; without it tide top shows requests, but no usage")
        return Finding(text("the cluster measures no usage of pods and nodes"), fix)
    return Finding(text("the cluster measures the usage of pods and nodes"))


def _minor(given: str) -> int:
    found = re.match(r"v?\d+\.(\d+)", given)
    return int(found[1]) if found else 0


CHECKS: Final[tuple[Callable[[Cluster], Awaitable[Finding]], ...]] = (
    version,
    definitions,
    operator,
    rights,
    nodes,
    gpus,
    storage,
    metrics,
)
