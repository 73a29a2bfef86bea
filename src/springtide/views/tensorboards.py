# SPDX-License-Identifier: Apache-2.0
"""The TensorBoard beside a job: which pod it is, whether it answers, and why not.

A command forwards a port of this machine to `PORT` of the pod that `serving` finds: no cluster need open one of its own
for it, and the embedded cluster cannot. The pod is another one after a restart; without any Deployment there is nothing
to forward any more, as when the job was deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from springtide.messages import Text, text

PORT: Final = 6006
_SHORT: Final = {"ContainerCreating", "PodInitializing"}
"""Reasons of waits that end by themselves."""
Obj = Mapping[str, Any]


def selector(job: str) -> str:
    """Finds its Deployment, its Service and its pods."""
    return f"release={job},role=tensorboard"


def address(port: int) -> str:
    """Of a port of this machine that is forwarded."""
    return f"http://127.0.0.1:{port}"


def serving(pods: Iterable[Obj]) -> Obj | None:
    """The pod that answers, of several the newest."""
    ready = [pod for pod in pods if _is_ready(pod) and not pod["metadata"].get("deletionTimestamp")]
    return max(ready, key=lambda pod: str(pod["metadata"]["creationTimestamp"]), default=None)


def waits(pods: Iterable[Obj]) -> Text:
    """Why none answers yet."""
    found = sorted(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))
    if not found:
        return text("TensorBoard has no pod yet.")
    status = found[-1].get("status") or {}
    for waiting in _waiting(status):
        if message := waiting.get("message"):
            return text("TensorBoard waits: {why}", why=message)
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] != "True":
            return text("TensorBoard waits for a node: {why}", why=condition.get("message", ""))
    return text("TensorBoard starts.")


def needs_help(pods: Iterable[Obj]) -> bool:
    """Whether somebody has to do something before it answers, such as to name another image."""
    reasons = {waiting.get("reason") for pod in pods for waiting in _waiting(pod.get("status") or {})}
    return not reasons <= _SHORT


def _waiting(status: Obj) -> Iterator[Obj]:
    for container in status.get("containerStatuses") or ():
        if waiting := (container.get("state") or {}).get("waiting"):
            yield waiting


def _is_ready(pod: Obj) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
