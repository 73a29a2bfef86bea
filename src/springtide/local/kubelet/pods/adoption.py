# SPDX-License-Identifier: Apache-2.0
"""Adopting the pods that an agent finds on disk when it starts, some of them running.

A living shim is adopted as it is; its containers are not affected. Where the shim is gone (killed, or the machine was
rebooted) the state files show how far its containers got, and marks beside them which ended with the node. A pod whose
object is deleted is ended and removed by its first reconcile, from its record alone.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from springtide.kube.informer import Informer
from springtide.kube.resources import Obj
from springtide.local.kubelet.dependencies import Dependencies
from springtide.local.kubelet.pods import interruptions
from springtide.local.kubelet.pods.local_pods import LocalPod, Record, records
from springtide.local.kubelet.pods.starting import mend_log, with_last_words
from springtide.local.runtime.contract import ContainerState
from springtide.local.runtime.shim_client import ShimGoneError

logger = logging.getLogger(__name__)


async def found(deps: Dependencies, informer: Informer[Obj]) -> list[LocalPod]:
    """This node's pods on disk. The informer must be synced and have an index by uid."""
    facts = deps.facts
    left = list(records(facts.data_dir / "pods", facts.node))
    objects = [informer.where("uid", record.uid) for record in left]
    # In parallel: a shim that does not answer must not delay the adoption of other pods.
    return await asyncio.gather(
        *(_adopt(deps, record, found[0] if found else None) for record, found in zip(left, objects, strict=True))
    )


async def _adopt(deps: Dependencies, record: Record, obj: Obj | None) -> LocalPod:
    facts = deps.facts
    directory = facts.pod_directory(record.uid)
    shim = await deps.runtime.adopt(directory)
    try:
        states = await shim.states() if shim is not None else []
    except ShimGoneError:  # the shim exited just now
        shim = None
    status = dict((obj or {}).get("status") or {})
    if shim is None:
        states = _left(deps, directory, status)
    logs = facts.log_directory(record.namespace, record.name, record.uid)
    names = [state.name for state in states]
    pod = LocalPod(obj or _remains(record, names), directory, logs, record.address, shim)
    pod.earlier, pod.reset = dict(record.earlier), dict(record.reset)
    if record.address != facts.host_ip:
        deps.addresses.keep(record.uid, record.address)
    pod.interrupted = interruptions.marked(directory, states)
    for state in states:
        if shim is None:
            mend_log(pod, state)
        pod.take_in(interruptions.killed(with_last_words(pod, state), pod.interrupted))
    pod.stale = True
    pod.status = status
    pod.images = _images(pod)
    logger.info("found pod %s, %s", pod.key, "running" if shim is not None else "without its shim")
    return pod


def _left(deps: Dependencies, directory: Path, status: Obj) -> list[ContainerState]:
    """The last states of a pod whose shim is gone; attempts that the node interrupted are marked.

    No agent was running when the shim ended: everything was killed, or the machine was rebooted.
    """
    runtime = deps.runtime
    interruptions.mark(directory, interruptions.running(runtime.left(directory)))
    states = runtime.lost(directory)
    if runtime.rebooted(directory):
        interruptions.mark(directory, interruptions.unreported_failures(states, status))
    return states


def _images(pod: LocalPod) -> dict[str, str]:
    """The images of the newest attempts, as far as the reported status covers these attempts."""
    fields = ("containerStatuses", "initContainerStatuses")
    reported = [status for field in fields for status in pod.status.get(field) or ()]
    return {
        status["name"]: status["image"]
        for status in reported
        if (state := pod.states.get(status["name"])) is not None and state.attempt == status["restartCount"]
    }


def _remains(record: Record, names: list[str]) -> Obj:
    """A minimal pod object, sufficient to end the pod."""
    metadata = {"namespace": record.namespace, "name": record.name, "uid": record.uid}
    return {
        "metadata": metadata | {"deletionGracePeriodSeconds": record.grace},
        "spec": {"containers": [{"name": name} for name in names]},
    }
