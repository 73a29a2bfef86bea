# SPDX-License-Identifier: Apache-2.0
"""The validating webhook at work: an API server asks it, believes it and goes on when it is silent."""

from __future__ import annotations

import socket
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.integration.controllers.world import ELASTIC, MPIJOBS, NAME, PATIENCE, V1, V2, World, job
from tests.integration.patience import until

from springtide.api.kinds.registry import DEFINED
from springtide.controllers.options import Options, WebhookOptions
from springtide.controllers.prerequisites import MissingError
from springtide.controllers.serving import PortError
from springtide.controllers.webhook import webhook
from springtide.controllers.webhook.certificates import LIFE, read
from springtide.controllers.webhook.webhook import CONFIGURATIONS, SECRET, judging
from springtide.jobs.registry import SERVED
from springtide.kube import errors
from springtide.kube.request import Patch
from springtide.kube.resources import NAMESPACES, SECRETS, Key, Obj, Resource

pytestmark = pytest.mark.asyncio(loop_scope="session")

REPLICAS = "spec.mpiReplicaSpecs[Worker].replicas"
TFJOBS = Resource("kubeflow.org", "v1", "tfjobs", "TFJob")
LINE = "the launcher's command line"
OUTSIDE = f"Invalid value: 9: must be between 1 and 4, as {LINE} says; ask for 4 or change {LINE} first"


def options(world: World, **webhook: Any) -> Options:
    """Of an operator for this namespace alone, so that tests on one server leave each other in peace."""
    return Options(
        namespace=world.namespace,
        lock_namespace=world.namespace,
        webhook=WebhookOptions(**({"port": 0} | webhook)),
    )


@asynccontextmanager
async def judged(world: World, **wanted: Any) -> AsyncIterator[None]:
    """Until the API server asks; a real one learns of a configuration a moment later."""
    async with judging(world.client, options(world, **wanted), SERVED):
        try:
            await until(lambda: asks(world), bool, PATIENCE)
            yield
        finally:
            await world.client.delete(CONFIGURATIONS, configuration_key(world))


async def asks(world: World) -> bool:
    probe = job(workers=9, command=ELASTIC) | {"metadata": {"generateName": "probe-", "namespace": world.namespace}}
    try:
        await world.client.create(MPIJOBS[V1], probe, query={"dryRun": "All"})
    except errors.Invalid:
        return True
    return False


def configuration_key(world: World) -> Key:
    return Key("", f"springtide-{world.namespace}")


async def submitted(world: World, raw: Obj) -> Obj:
    raw["metadata"]["namespace"] = world.namespace
    return await world.client.create(MPIJOBS[raw["apiVersion"].partition("/")[2]], raw)


async def resized(world: World, replicas: int, version: str = V1) -> Obj:
    patch = {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": replicas}}}}
    return await world.client.patch(MPIJOBS[version], Key(world.namespace, NAME), patch)


async def scaled(world: World, replicas: int, version: str = V1) -> Obj:
    key = Key(world.namespace, NAME)
    return await world.client.patch(MPIJOBS[version], key, {"spec": {"replicas": replicas}}, subresource="scale")


@pytest.mark.parametrize("version", [V1, V2])
async def test_a_size_out_of_bounds_is_refused_however_it_is_asked_for(world: World, version: str) -> None:
    async with judged(world):
        with pytest.raises(errors.Invalid) as created:
            await submitted(world, job(version, workers=9, command=ELASTIC))
        await submitted(world, job(version, command=ELASTIC))
        with pytest.raises(errors.Invalid) as patched:
            await resized(world, 9, version)
        with pytest.raises(errors.Invalid) as by_scale:
            await scaled(world, 9, version)
        for refusal in (created.value, patched.value, by_scale.value):
            assert refusal.causes == [{"reason": "FieldValueInvalid", "field": REPLICAS, "message": OUTSIDE}]
            assert refusal.message == (
                'admission webhook "mpijobs.springtide.dev" denied the request: '
                f'MPIJob.kubeflow.org "{NAME}" is invalid: {REPLICAS}: {OUTSIDE}'
            )
        assert (await scaled(world, 4, version))["spec"]["replicas"] == 4
        assert (await resized(world, 1, version))["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 1


def tfjob(workers: str = "Worker", **spec: Any) -> Obj:
    template = {"spec": {"containers": [{"name": "tensorflow", "image": "train:1"}]}}
    roles = {role: {"replicas": count, "template": template} for role, count in (("Ps", 1), (workers, 2))}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": NAME},
        "spec": {"tfReplicaSpecs": roles, **spec},
    }


async def begun(world: World, raw: Obj) -> None:
    """A job that an operator has started."""
    raw["metadata"]["namespace"] = world.namespace
    await world.client.create(TFJOBS, raw)
    status = {"status": {"startTime": "2026-01-02T03:04:05Z"}}
    await world.client.patch(TFJOBS, Key(world.namespace, NAME), status, subresource="status")


async def test_a_job_that_keeps_its_size_is_refused_another_until_it_is_suspended(world: World) -> None:
    key, scaled_to = Key(world.namespace, NAME), {"spec": {"replicas": 3}}
    larger = {"spec": {"tfReplicaSpecs": {"Worker": {"replicas": 3}, "Ps": {"replicas": 2}}}}
    async with judged(world):
        await begun(world, tfjob())
        with pytest.raises(errors.Invalid) as patched:
            await world.client.patch(TFJOBS, key, larger)
        with pytest.raises(errors.Invalid) as by_scale:
            await world.client.patch(TFJOBS, key, scaled_to, subresource="scale")
        assert [cause["field"] for cause in patched.value.causes] == [
            f"spec.tfReplicaSpecs[{role}].replicas" for role in ("Ps", "Worker")
        ]
        assert by_scale.value.causes == [
            {
                "reason": "FieldValueForbidden",
                "field": "spec.tfReplicaSpecs[Worker].replicas",
                "message": "Forbidden: a TFJob without spec.enableDynamicWorker keeps its size while it runs; suspend "
                "it, change the size and resume it, which starts it again, from its checkpoint if it has one",
            }
        ]
        await world.client.patch(TFJOBS, key, {"spec": {"runPolicy": {"suspend": True}}})
        await world.client.patch(TFJOBS, key, larger)
        await world.client.patch(TFJOBS, key, {"spec": {"runPolicy": {"suspend": False}}})


async def test_of_a_dynamic_tfjob_only_the_workers_are_resized(world: World) -> None:
    key = Key(world.namespace, NAME)
    async with judged(world):
        await begun(world, tfjob(enableDynamicWorker=True))
        scaled = await world.client.patch(TFJOBS, key, {"spec": {"replicas": 3}}, subresource="scale")
        assert scaled["spec"]["replicas"] == 3
        with pytest.raises(errors.Invalid, match="only the size of Worker can change while the job runs"):
            await world.client.patch(TFJOBS, key, {"spec": {"tfReplicaSpecs": {"Ps": {"replicas": 2}}}})


async def test_workers_in_another_spelling_have_no_scale_whoever_asks(world: World) -> None:
    """An API server reads the path literally and rejects the second spelling before it asks a webhook, which warns of
    it at creation."""
    key = Key(world.namespace, NAME)
    async with judged(world):
        await begun(world, tfjob("worker", enableDynamicWorker=True))
        with pytest.raises(errors.Invalid, match="kubectl scale and autoscalers need Worker"):
            await world.client.patch(TFJOBS, key, {"spec": {"replicas": 3}}, subresource="scale")
        with pytest.raises(errors.ApiError, match=r'"\.spec\.tfReplicaSpecs\.Worker\.replicas" cannot be empty'):
            await world.client.patch(TFJOBS, key, {"spec": {}}, subresource="scale")
        await world.client.patch(TFJOBS, key, {"spec": {"tfReplicaSpecs": {"worker": {"replicas": 3}}}})


async def test_a_name_that_leads_to_no_pod_is_refused(world: World) -> None:
    async with judged(world):
        raw = job()
        raw["metadata"]["name"] = "9-lives"
        with pytest.raises(errors.Invalid) as refused:
            await submitted(world, raw)
        assert [cause["field"] for cause in refused.value.causes] == ["metadata.name"]


async def test_a_job_from_before_the_webhook_can_still_be_changed_and_deleted(world: World) -> None:
    raw = job(workers=9, command=ELASTIC)
    raw["metadata"]["finalizers"] = ["example.com/wait"]
    await submitted(world, raw)
    key = Key(world.namespace, NAME)
    async with judged(world):
        client, mpijobs = world.client, MPIJOBS[V1]
        await client.patch(mpijobs, key, {"metadata": {"labels": {"team": "a"}}})
        await client.patch(mpijobs, key, {"status": {"state": "Running"}}, subresource="status")
        await client.patch(mpijobs, key, {"spec": {"mainContainer": "main"}})
        with pytest.raises(errors.Invalid):
            await resized(world, 8)
        await client.delete(mpijobs, key)
        await client.patch(mpijobs, key, {"metadata": {"finalizers": None}})
        assert await client.find(mpijobs, key) is None


async def test_its_manager_cannot_be_set_later(world: World) -> None:
    async with judged(world):
        await submitted(world, job())
        change = [{"op": "add", "path": "/spec/runPolicy", "value": {"managedBy": "kueue.x-k8s.io/multikueue"}}]
        with pytest.raises(errors.Invalid) as refused:
            await world.client.patch(MPIJOBS[V1], Key(world.namespace, NAME), change, Patch.JSON)
        (cause,) = refused.value.causes
        assert cause["field"] == "spec.runPolicy.managedBy"
        assert cause["message"].endswith(": field is immutable")


async def test_a_job_as_large_as_the_api_server_allows_is_judged(world: World) -> None:
    raw = job(command=ELASTIC)
    container = raw["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "LARGE", "value": "x" * 1_300_000}]
    async with judged(world, must_answer=True):
        await submitted(world, raw)
        await resized(world, 3)
        with pytest.raises(errors.Invalid):
            await resized(world, 9)


async def test_a_dry_run_is_judged_too(world: World) -> None:
    async with judged(world):
        assert await asks(world)


async def test_jobs_come_in_while_nobody_answers_unless_somebody_must(world: World) -> None:
    for must_answer in (False, True):
        async with judging(world.client, options(world, must_answer=must_answer), SERVED):
            await until(lambda: asks(world), bool, PATIENCE)
        if must_answer:
            with pytest.raises(errors.ServerError, match="failed calling webhook"):
                await submitted(world, job())
        else:
            await submitted(world, job(workers=9, command=ELASTIC))
            await world.client.delete(MPIJOBS[V1], Key(world.namespace, NAME))
    await world.client.delete(CONFIGURATIONS, configuration_key(world))


async def test_several_operators_show_the_same_certificate(world: World) -> None:
    async with judged(world):
        secret = Key(world.namespace, SECRET)
        first = await world.client.get(SECRETS, secret)
        async with judging(world.client, options(world), SERVED):
            assert (await world.client.get(SECRETS, secret))["data"] == first["data"]
            await until(lambda: asks(world), bool, PATIENCE)


async def test_a_certificate_is_renewed_while_it_is_in_use(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "UPKEEP", 0.05)
    times = [datetime.now(UTC) - LIFE + timedelta(days=1)]
    secret = Key(world.namespace, SECRET)
    async with judging(world.client, options(world), SERVED, lambda: times[-1]):
        await until(lambda: asks(world), bool, PATIENCE)
        before = read(await world.client.get(SECRETS, secret))
        times.append(datetime.now(UTC))

        async def known() -> bool:
            """To the API server as well, which still trusts the former one."""
            after = read(await world.client.get(SECRETS, secret))
            hook = (await world.client.get(CONFIGURATIONS, configuration_key(world)))["webhooks"][0]
            assert before is not None
            return after not in (None, before) and before.ca in b64decode(hook["clientConfig"]["caBundle"])

        await until(known, bool, PATIENCE)
        await until(lambda: asks(world), bool, PATIENCE)
    await world.client.delete(CONFIGURATIONS, configuration_key(world))


async def test_a_configuration_that_was_deleted_comes_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "UPKEEP", 0.05)
    async with judged(world):
        await world.client.delete(CONFIGURATIONS, configuration_key(world))

        async def there() -> bool:
            return await world.client.find(CONFIGURATIONS, configuration_key(world)) is not None

        await until(there, bool, PATIENCE)


async def test_a_cluster_finds_it_by_a_service(world: World) -> None:
    async with judging(world.client, options(world, service="springtide", must_answer=True), SERVED):
        hooks = (await world.client.get(CONFIGURATIONS, configuration_key(world)))["webhooks"]
        service = {"namespace": world.namespace, "name": "springtide", "path": "/validate", "port": 443}
        assert [hook["name"] for hook in hooks] == [f"{each.plural}.springtide.dev" for each in DEFINED]
        for hook in hooks:
            assert hook["clientConfig"]["service"] == service
            assert (hook["failurePolicy"], hook["sideEffects"]) == ("Fail", "None")
            assert hook["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": world.namespace}}
    await world.client.delete(CONFIGURATIONS, configuration_key(world))


async def test_without_the_locks_namespace_it_says_what_to_do(world: World) -> None:
    lost = Options(lock_namespace="nowhere-at-all", webhook=WebhookOptions(0, must_answer=True))
    with pytest.raises(MissingError, match="kubectl create namespace nowhere-at-all"):
        async with judging(world.client, lost, SERVED):
            pass


async def test_what_cannot_be_judged_is_run_all_the_same_and_judged_when_it_can_be(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(webhook, "RETRY", 0.05)
    late = f"{world.namespace}-late"
    wanted = Options(namespace=world.namespace, lock_namespace=late, webhook=WebhookOptions(0))
    async with judging(world.client, wanted, SERVED):

        async def complained() -> bool:
            return f"kubectl create namespace {late}" in caplog.text

        await until(complained, bool, PATIENCE)
        await world.client.create(NAMESPACES, NAMESPACES.describe(Key("", late)))
        await until(lambda: asks(world), bool, PATIENCE)
    await world.client.delete(CONFIGURATIONS, configuration_key(world))
    await world.client.delete(NAMESPACES, Key("", late))


async def test_a_port_that_is_taken_is_said_to_be(world: World) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(PortError, match="--webhook-port PORT"):
            async with judging(world.client, options(world, port=other.getsockname()[1]), SERVED):
                pass


async def test_an_operator_without_a_webhook_registers_nothing(world: World) -> None:
    async with judging(world.client, Options(namespace=world.namespace), SERVED):
        assert await world.client.find(CONFIGURATIONS, configuration_key(world)) is None
