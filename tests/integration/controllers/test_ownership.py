# SPDX-License-Identifier: Apache-2.0
"""Names are anybody's, and so are labels: what a job may reach, change and delete has its uid as controller."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import pytest
from tests.integration.controllers import chronicle
from tests.integration.controllers.world import ELASTIC, MPIJOBS, NAME, V1, V2, World, job

from springtide.kube import errors
from springtide.kube.request import DeleteOptions
from springtide.kube.resources import (
    CONFIGMAPS,
    JOBS,
    PODS,
    ROLEBINDINGS,
    ROLES,
    SECRETS,
    SERVICEACCOUNTS,
    SERVICES,
    Obj,
    Resource,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")

REVIEWS = Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False)
PODGROUPS = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
LAUNCHER, CONFIG = f"{NAME}-launcher", f"{NAME}-config"
FIRST, SECOND = f"{NAME}-worker-0", f"{NAME}-worker-1"
LABELS: Final = {"springtide.dev/job": NAME, "springtide.dev/kind": "MPIJob"}
POD_SPEC: Final = {"containers": [{"name": "theirs", "image": "theirs:1"}]}
ROLE_REF: Final = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "theirs"}
NAMED: Final = [
    (V1, SERVICEACCOUNTS, LAUNCHER, {}),
    (V1, ROLES, LAUNCHER, {"rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]}),
    (V1, ROLEBINDINGS, LAUNCHER, {"roleRef": ROLE_REF, "subjects": []}),
    (V1, CONFIGMAPS, CONFIG, {"data": {"theirs": "yes"}}),
    (V1, PODGROUPS, NAME, {"spec": {"minMember": 7}}),
    (V1, PODS, LAUNCHER, {"spec": POD_SPEC}),
    (V1, PODS, SECOND, {"spec": POD_SPEC}),
    (V2, SERVICES, NAME, {"spec": {"ports": [{"port": 6379}], "selector": {"app": "redis"}}}),
    (V2, SECRETS, f"{NAME}-ssh", {"stringData": {"theirs": "yes"}}),
    (V2, CONFIGMAPS, CONFIG, {"data": {"theirs": "yes"}}),
    (V2, JOBS, LAUNCHER, {"spec": {"template": {"spec": {**POD_SPEC, "restartPolicy": "Never"}}}}),
    (V2, PODS, SECOND, {"spec": POD_SPEC}),
]


async def _theirs(world: World, resource: Resource, name: str, body: Obj, **metadata: Any) -> Obj:
    manifest = resource.describe(world.key(name)) | body
    manifest["metadata"] |= metadata
    return await world.client.create(resource, manifest)


async def _named(world: World) -> set[str]:
    """Pods that the launcher's Role names, for whatever."""
    role = await world.find(ROLES, LAUNCHER)
    return {name for rule in (role or {"rules": []})["rules"] for name in rule.get("resourceNames", ())}


async def _may_exec(world: World, account: str, pod: str) -> bool:
    wanted = {"namespace": world.namespace, "resource": "pods", "subresource": "exec", "verb": "create", "name": pod}
    user = f"system:serviceaccount:{world.namespace}:{account}"
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {}}
    spec = {"user": user, "groups": ["system:serviceaccounts"], "resourceAttributes": wanted}
    answer = await world.client.create(REVIEWS, review | {"spec": spec})
    return bool(answer["status"]["allowed"])


@pytest.mark.parametrize("labels", [{}, LABELS], ids=["unlabelled", "with the job's labels"])
@pytest.mark.parametrize(
    ("version", "resource", "name", "body"),
    NAMED,
    ids=[f"{version} {each.kind} {name}" for version, each, name, _ in NAMED],
)
async def test_an_object_of_somebody_else_is_left_alone_and_told_of(
    world: World, version: str, resource: Resource, name: str, body: Obj, labels: dict[str, str]
) -> None:
    made = await _theirs(world, resource, name, body, labels=labels)
    await world.start(gang_scheduler="volcano")
    await world.submit(job(version))
    condition = await world.until_condition("NameTaken")
    said = f'Resource "{name}" of Kind "{resource.kind}" already exists and is not managed by MPIJob. '
    assert condition["message"].startswith(said)
    assert condition["message"].endswith(f"give the job another metadata.name, or delete that {resource.kind}")
    event = await world.until_event("ErrResourceExists")
    assert (event["type"], event["message"]) == ("Warning", condition["message"])
    await world.quiet()
    assert await world.get(resource, name) == made, "not a field of it has changed"
    assert (await world.status())["explanation"] == condition["message"]
    if resource is not PODS:
        assert name not in await _named(world)
        assert await world.workers() == [] or resource is JOBS
    told = await world.told()
    await world.client.delete(resource, world.key(name), DeleteOptions(grace=0, propagation="Background"))
    await world.patch({"metadata": {"annotations": {"touched": "yes"}}})
    await world.workers_run(2)
    await world.launcher_runs()
    await world.until_condition("NameTaken", "False")
    assert told["ErrResourceExists"] == 1


@pytest.mark.parametrize("labels", [{}, LABELS | {"springtide.dev/role": "Worker", "springtide.dev/index": "0"}])
async def test_a_job_gives_nobody_a_right_to_a_foreign_pod(world: World, labels: dict[str, str]) -> None:
    """Whoever may create jobs names the account; its launcher would reach the pod that had the name first."""
    pod = await _theirs(world, PODS, FIRST, {"spec": POD_SPEC}, labels=labels)
    await world.client.create(SERVICEACCOUNTS, SERVICEACCOUNTS.describe(world.key("mallory")))
    async with chronicle.kept(world.client, world.namespace) as kept:
        await world.start()
        raw = job(V1, command=["1" if word == "2" else word for word in ELASTIC])
        raw["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["serviceAccountName"] = "mallory"
        await world.submit(raw)
        await world.until_event("ErrResourceExists")
        await world.until(lambda: _named(world), lambda found: SECOND in found)
        await world.kubelet.run(SECOND)
        await world.kubelet.run(FIRST)
        await world.until_listed(1)
        await world.quiet()
    assert await _may_exec(world, "mallory", SECOND)
    assert not await _may_exec(world, "mallory", FIRST)
    assert (await world.get(PODS, FIRST))["metadata"]["uid"] == pod["metadata"]["uid"]
    for _, resource, change in kept.changes:
        if resource is ROLES:
            assert all(FIRST not in rule.get("resourceNames", ()) for rule in change.object["rules"])
        if resource is CONFIGMAPS:
            assert not any(FIRST in text for text in change.object["data"].values())


async def test_a_name_leaves_the_role_when_its_pod_is_gone(operated: World) -> None:
    """Whoever has it then has nothing to do with the job."""
    await operated.running(job(V1, command=ELASTIC))
    await operated.client.delete(PODS, operated.key(FIRST), DeleteOptions(grace=0))
    await _theirs(operated, PODS, FIRST, {"spec": POD_SPEC})
    await operated.until(lambda: _named(operated), lambda found: FIRST not in found)
    await operated.until(operated.listed, lambda found: FIRST not in found)
    await operated.quiet()
    assert FIRST not in await _named(operated)


@pytest.mark.parametrize("policy", ["None", "Running", "All"])
async def test_the_launcher_of_a_finished_job_may_reach_nobody(operated: World, policy: str) -> None:
    launcher = await operated.running(job(V1, runPolicy={"cleanPodPolicy": policy}))
    assert await _named(operated) == {FIRST, SECOND, LAUNCHER}
    mark = len(operated.wire.writes)
    await operated.kubelet.succeed(launcher)
    await operated.until_condition("Succeeded")
    await operated.until(lambda: _named(operated), lambda found: not found)
    await operated.quiet()
    written = operated.wire.written()[mark:]
    deleted = [index for index, write in enumerate(written) if write.startswith("DELETE pods")]
    assert bool(deleted) == (policy != "None")
    if deleted:
        assert written.index(f"PATCH roles {LAUNCHER}") < deleted[0]
        assert written.index(f"PATCH configmaps {CONFIG}") < deleted[0]
        assert NAME not in await operated.file("hostfile")


async def test_a_job_with_forged_pods_goes_on_with_its_own(operated: World) -> None:
    """Whoever may create pods may write any label and any owner on them."""
    await operated.running(job(V1, command=ELASTIC))
    (owner,) = (await operated.get(PODS, FIRST))["metadata"]["ownerReferences"]
    worker = LABELS | {"springtide.dev/role": "Worker"}
    forged = {
        "a-stand-in": worker | {"springtide.dev/index": "0"},
        "z-stand-in": worker | {"springtide.dev/index": "1"},
        f"{NAME}-worker-999999999": worker | {"springtide.dev/index": "999999999"},
        f"{NAME}-worker-{'9' * 40}": worker | {"springtide.dev/index": "9" * 40},
        f"{NAME}-worker-00": worker | {"springtide.dev/index": "00"},
        f"{NAME}-worker-x": worker | {"springtide.dev/index": "x"},
        "another-launcher": LABELS | {"springtide.dev/role": "Launcher"},
        "no-role": LABELS,
    }
    for name, labels in forged.items():
        await _theirs(operated, PODS, name, {"spec": POD_SPEC}, labels=labels, ownerReferences=[owner])
        with suppress(errors.NotFound, errors.Conflict):  # it may be on its way out by now
            await operated.kubelet.run(name)
    beyond = {f"{NAME}-worker-999999999", f"{NAME}-worker-{'9' * 40}"}

    async def left() -> set[str]:
        await operated.kubelet.end()
        return set(await operated.all_of(PODS)) & set(forged)

    # Those that could be workers are too many, and go like any that the operator did not ask for.
    await operated.until(left, lambda found: found == set(forged) - beyond)
    await operated.quiet()
    assert await operated.listed() == [FIRST, SECOND]
    assert await _named(operated) == {FIRST, SECOND, LAUNCHER}
    annotations = (await operated.get(CONFIGMAPS, CONFIG))["metadata"]["annotations"]
    assert annotations["springtide.dev/next-index"] == "2"
    await operated.resize(3)
    await operated.until(operated.workers, lambda found: f"{NAME}-worker-2" in found)
    await operated.kubelet.run(f"{NAME}-worker-2")
    await operated.until_listed(0, 1, 2)


async def test_a_patch_with_the_uid_of_another_object_changes_nothing(world: World) -> None:
    """What the operator relies on when a pod is replaced under its hands."""
    made = await _theirs(world, PODS, LAUNCHER, {"spec": POD_SPEC})
    with pytest.raises((errors.Conflict, errors.Invalid)):
        await world.client.patch(PODS, world.key(LAUNCHER), {"metadata": {"uid": "other", "annotations": {"a": "b"}}})
    assert await world.get(PODS, LAUNCHER) == made


async def test_of_v2beta1_a_forged_batch_job_decides_nothing(operated: World) -> None:
    await operated.running(job(V2))
    (owner,) = (await operated.get(PODS, FIRST))["metadata"]["ownerReferences"]
    body = {"spec": {"template": {"spec": {**POD_SPEC, "restartPolicy": "Never"}}}}
    await _theirs(operated, JOBS, "a-forged-one", body, labels=LABELS, ownerReferences=[owner])
    await operated.kubelet.complete("a-forged-one")
    await operated.quiet()
    assert (await operated.status())["state"] == "Running"
    await operated.kubelet.complete(LAUNCHER)
    await operated.until_condition("Succeeded")
    assert await operated.find(MPIJOBS[V2], NAME)
