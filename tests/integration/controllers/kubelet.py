# SPDX-License-Identifier: Apache-2.0
"""What happens to pods, as far as the API shows it: scheduler, kubelet and Job controller in the hands of a test."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.request import DeleteOptions, Scope
from springtide.kube.resources import JOBS, PODS, Key, Obj

NODE = "node-a"


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Kubelet:
    def __init__(self, client: Client, namespace: str) -> None:
        self._client, self._namespace = client, namespace

    async def place(self, name: str, node: str = NODE) -> None:
        """A pod on a node is not gone when it is deleted, but only when its kubelet says so."""
        pod = await self._client.get(PODS, self._key(name))
        if pod["spec"].get("nodeName"):
            return
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        await self._client.create(PODS, binding, on=self._key(name), subresource="binding")

    async def run(self, name: str, node: str = NODE, *, ready: bool = True) -> None:
        await self.place(name, node)
        await self._report(name, "Running", {"running": {"startedAt": now()}}, ready=ready)

    async def succeed(self, name: str) -> None:
        ended = {"exitCode": 0, "reason": "Completed", "startedAt": now(), "finishedAt": now()}
        await self._report(name, "Succeeded", {"terminated": ended})

    async def fail(self, name: str, code: int = 1, why: str = "Error", said: str = "", **status: Any) -> None:
        """`status` is of the pod: its reason and message, where it was its node that ended it."""
        ended = {"exitCode": code, "reason": why, "message": said, "startedAt": now(), "finishedAt": now()}
        await self._report(name, "Failed", {"terminated": ended}, **status)

    async def restart(self, name: str, times: int) -> None:
        """The container has failed so often, and was started again in its place."""
        pod = await self._client.get(PODS, self._key(name))
        failed = {"terminated": {"exitCode": 1, "reason": "Error", "startedAt": now(), "finishedAt": now()}}
        running = {"running": {"startedAt": now()}}
        again = {"restartCount": times, "lastState": failed}
        statuses = [_container(each, running, True) | again for each in pod["spec"]["containers"]]
        await self.report(name, containerStatuses=statuses)

    async def end(self) -> None:
        """Pods that are being deleted are gone."""
        for pod in (await self._client.list(PODS, Scope(self._namespace))).items:
            if "deletionTimestamp" in pod["metadata"]:
                with suppress(errors.NotFound, errors.Conflict):
                    await self._client.delete(PODS, Key.of(pod), DeleteOptions(grace=0, uid=pod["metadata"]["uid"]))

    async def report(self, name: str, **status: Any) -> None:
        await self._client.patch(PODS, self._key(name), {"status": status}, subresource="status")

    async def annotate(self, name: str, **annotations: str) -> None:
        """With annotations of ours."""
        body = {"metadata": {"annotations": {f"springtide.dev/{key}": value for key, value in annotations.items()}}}
        await self._client.patch(PODS, self._key(name), body)

    # The Job controller's part

    async def job_controller(self, batch: Obj) -> None:
        """One pod of the Job lives, or none while it is suspended."""
        template, owner = batch["spec"]["template"], batch["metadata"]
        pods = (await self._client.list(PODS, Scope(self._namespace))).items
        owned = [pod for pod in pods if _owner(pod) == owner["uid"]]
        alive = [pod for pod in owned if pod["status"]["phase"] in ("Pending", "Running")]
        if batch["spec"].get("suspend"):
            for pod in alive:
                await self._client.delete(PODS, Key.of(pod))
        if alive or batch["spec"].get("suspend"):
            return
        reference = {"apiVersion": "batch/v1", "kind": "Job", "name": owner["name"], "uid": owner["uid"]}
        metadata = {
            **template["metadata"],
            "name": f"{owner['name']}-{len(owned)}",
            "namespace": self._namespace,
            "ownerReferences": [{**reference, "controller": True}],
        }
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
        with suppress(errors.AlreadyExists):
            await self._client.create(PODS, pod)

    async def complete(self, name: str) -> None:
        done = [_condition("SuccessCriteriaMet"), _condition("Complete")]
        await self._job(name, startTime=now(), completionTime=now(), succeeded=1, conditions=done)

    async def give_up(self, name: str, reason: str = "BackoffLimitExceeded", failed: int = 1) -> None:
        why = {"reason": reason, "message": "Job has reached the specified backoff limit"}
        done = [_condition("FailureTarget", **why), _condition("Failed", **why)]
        await self._job(name, startTime=now(), failed=failed, conditions=done)

    async def _job(self, name: str, **status: Any) -> None:
        await self._client.patch(JOBS, self._key(name), {"status": status}, subresource="status")

    async def _report(self, name: str, phase: str, state: Obj, *, ready: bool = False, **status: Any) -> None:
        pod = await self._client.get(PODS, self._key(name))
        statuses = [_container(each, state, ready) for each in pod["spec"]["containers"]]
        answer = "True" if ready else "False"
        conditions = [{"type": "Ready", "status": answer, "lastTransitionTime": now()}]
        await self.report(
            name, phase=phase, startTime=now(), conditions=conditions, containerStatuses=statuses, **status
        )

    def _key(self, name: str) -> Key:
        return Key(self._namespace, name)


def _container(container: Obj, state: Obj, ready: bool) -> Obj:
    image = {"image": container["image"], "imageID": ""}
    return {"name": container["name"], **image, "ready": ready, "restartCount": 0, "state": state}


def _condition(type_: str, **why: str) -> Obj:
    return {"type": type_, "status": "True", "lastProbeTime": now(), "lastTransitionTime": now(), **why}


def _owner(pod: Obj) -> str:
    return next((each["uid"] for each in pod["metadata"].get("ownerReferences", ()) if each.get("controller")), "")
