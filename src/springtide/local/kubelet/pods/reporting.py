# SPDX-License-Identifier: Apache-2.0
"""Reporting to the API: changed statuses, and the deletion of pods that have ended."""

from __future__ import annotations

import logging

from springtide.kube import errors
from springtide.kube.controller import Retry
from springtide.kube.request import DeleteOptions, Patch
from springtide.kube.resources import PODS
from springtide.local.kubelet.dependencies import Dependencies
from springtide.local.kubelet.pods.local_pods import LocalPod
from springtide.local.kubelet.status import pod_status

logger = logging.getLogger(__name__)

INVALID_PAUSE = 5.0


async def report(deps: Dependencies, pod: LocalPod) -> None:
    """Write the pod's status if it changed. ApiError, to be retried, when the server rejects it.

    That includes NotFound: the watch will report the deletion, too, and then there is nothing left to report.
    """
    if pod.removed or pod.closing:
        return
    host = deps.facts.host_ip
    has_address = pod.shim is not None or pod.status.get("podIP") or pod.obj["spec"].get("hostNetwork")
    place = pod_status.Place(host, pod.address if has_address else "")
    fresh = pod_status.derive(pod.obj, pod.observed(), pod.status, place, deps.clock())
    patch = pod_status.difference(pod.obj, pod.status, fresh)
    if patch is None:
        return
    try:
        await deps.client.patch(PODS, pod.key, patch, Patch.STRATEGIC, subresource="status")
    except errors.Invalid as error:
        # As with kubelet, the server rejects init containers that run again in a new sandbox until they are complete.
        logger.info("the status of pod %s is not accepted: %s", pod.key, error)
        raise Retry(f"the server does not accept the status: {error}", INVALID_PAUSE) from error
    pod.status = fresh


async def delete(deps: Dependencies, pod: LocalPod) -> None:
    """Delete the object of a pod that has ended."""
    try:
        await deps.client.delete(PODS, pod.key, DeleteOptions(grace=0, uid=pod.uid))
    except (errors.NotFound, errors.Conflict):
        pod.removed = True
