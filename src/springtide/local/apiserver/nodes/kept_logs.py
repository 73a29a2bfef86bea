# SPDX-License-Identifier: Apache-2.0
"""The logs of removed pods, which no Kubernetes serves: under a group of our own that is in no discovery document.

    GET /apis/logs.springtide.dev/v1alpha1/namespaces/NS/podlogs?labelSelector=…
    GET /apis/logs.springtide.dev/v1alpha1/namespaces/NS/podlogs/POD.UID
    GET /apis/logs.springtide.dev/v1alpha1/namespaces/NS/podlogs/POD.UID/log     with the options of `pods/log`

Whoever may read the log of a pod may read it after the pod is removed, and nobody else: RBAC is asked for `get` of
`pods/log`, with the pod's name or, for a list, for all pods of the namespace. Logs of a deleted namespace are removed
with it, and those that the nodes hand in later belong to no namespace of the same name that is created afterwards.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

from springtide.api.field_errors import cut
from springtide.local import status
from springtide.local.access.attributes import Attributes, Authorizer, require
from springtide.local.apiserver.context import StoreReader
from springtide.local.apiserver.following import follow
from springtide.local.apiserver.replies import Answer, Stream, reply
from springtide.local.apiserver.requests import Request, Target
from springtide.local.kinds.label_selectors import LIGHT_SELECTOR, Selector, SelectorError
from springtide.local.kinds.label_selectors import parse as parse_selector
from springtide.local.kinds.strategy import Obj
from springtide.local.pod_logs import keeping, kept, reading
from springtide.local.pod_logs.kept import Entry, Pod
from springtide.local.store.backend import Record, Store
from springtide.local.streams import kubelet

GROUP: Final = "logs.springtide.dev"
VERSION: Final = "v1alpha1"
RESOURCE: Final = "podlogs"
_LONGEST_AGO: Final = 10**9
"""Seconds; a longer `sinceSeconds` begins before all logs."""


class KeptLogs:
    def __init__(self, store: Store, authorizer: Authorizer, data_dir: Path | None) -> None:
        """Without a directory there are no kept logs."""
        self._store, self._reader, self._authorizer, self._data_dir = store, StoreReader(store), authorizer, data_dir
        self._removing: set[asyncio.Future[None]] = set()

    async def answer(self, request: Request, target: Target) -> Answer:
        pod = target.name.rpartition(".")[0]
        require(self._authorizer, request.user, Attributes("get", "", "pods", "log", pod, target.namespace))
        if not target.namespace or target.subresource not in ("", "log"):
            raise status.path_not_found()
        if request.method != "GET" or target.verb not in ("get", "list"):
            raise status.method_not_allowed()
        if not target.name:
            return await self._listed(request, target)
        entry, found = await asyncio.to_thread(self._find, target)
        if target.subresource:
            return await asyncio.to_thread(_log, request, entry, found)
        return reply(_shown(entry, found))

    async def _listed(self, request: Request, target: Target) -> Answer:
        selector = _selector(request.query.get("labelSelector"))
        items = await asyncio.to_thread(self._matching, target.namespace, selector)
        frame = {"kind": "PodLogList", "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}}
        return reply(frame | {"items": items})

    def _matching(self, namespace: str, selector: Selector) -> list[Obj]:
        found = ((entry, kept.read_card(entry.path)) for entry in self._entries(namespace))
        since = self._since(namespace)
        return [
            _shown(entry, pod)
            for entry, pod in found
            if pod is not None and pod.created >= since and selector.matches(pod.labels)
        ]

    def _find(self, target: Target) -> tuple[Entry, Pod]:
        name, _, uid = target.name.rpartition(".")
        since = self._since(target.namespace)
        for entry in self._entries(target.namespace):
            pod = kept.read_card(entry.path) if entry.uid == uid else None
            if pod is not None and pod.name == name and pod.created >= since:
                return entry, pod
        raise status.not_found(GROUP, RESOURCE, target.name)

    def _entries(self, namespace: str) -> list[Entry]:
        if self._data_dir is None:
            return []
        return [entry for entry in kept.entries(self._data_dir / kept.KEPT) if entry.namespace == namespace]

    def _since(self, namespace: str) -> str:
        """The creation of the namespace, before which no pod of it was created; after all times if there is none."""
        found = self._reader.get("namespaces", "", namespace)
        return str(found["metadata"]["creationTimestamp"]) if found is not None else "~"

    # Deleted namespaces

    async def run(self) -> None:
        """Runs until cancelled: removes the kept logs of deleted namespaces."""
        if self._data_dir is None:
            await asyncio.Event().wait()
            return
        known = {record.key.name for record in self._store.list("namespaces")}
        found = await asyncio.to_thread(kept.entries, self._data_dir / kept.KEPT)
        for namespace in {entry.namespace for entry in found} - known:
            self._remove(namespace)
        await follow(self._store, "namespaces", _ignore, lambda record: self._remove(record.key.name))

    def _remove(self, namespace: str) -> None:
        assert self._data_dir is not None
        work = partial(keeping.remove_of_namespace, self._data_dir, namespace)
        removing = asyncio.get_running_loop().run_in_executor(None, work)
        self._removing.add(removing)
        removing.add_done_callback(self._removing.discard)


def _ignore(record: Record) -> None:
    return


def _selector(text: str) -> Selector:
    if len(text) > LIGHT_SELECTOR:
        raise status.bad_request(f"a label selector for {RESOURCE} has at most {LIGHT_SELECTOR} characters")
    try:
        return parse_selector(text)
    except SelectorError as error:
        raise status.bad_request(str(error)) from None


def _shown(entry: Entry, pod: Pod) -> Obj:
    metadata: dict[str, Any] = {"name": f"{pod.name}.{pod.uid}", "namespace": pod.namespace}
    metadata |= {"creationTimestamp": pod.created, "labels": pod.labels}
    if pod.owner:
        metadata["ownerReferences"] = [{**pod.owner, "controller": True}]
    removed = datetime.fromtimestamp(entry.removed // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    about = {"pod": pod.name, "uid": pod.uid, "job": pod.job, "node": pod.node, "defaultContainer": pod.container}
    containers = [
        {"name": name, "restartCount": numbers[-1], "attempts": numbers}
        for name, numbers in kept.attempts(entry.path).items()
    ]
    frame = {"kind": "PodLog", "apiVersion": f"{GROUP}/{VERSION}", "metadata": metadata}
    return {**frame, **about, "removed": removed, "containers": containers}


def _log(request: Request, entry: Entry, pod: Pod) -> Answer:
    query = parse_qs(request.query.raw, keep_blank_values=True)
    kubelet.check_log_options(pod.name, query)
    container, number = _attempt(entry, pod, request.query.get("container"), kubelet.flag(query, "previous"))
    tail, limit = kubelet.number(query, "tailLines"), kubelet.number(query, "limitBytes")
    options = reading.Options(False, tail, limit, _since(query), kubelet.flag(query, "timestamps"))
    files = partial(reading.files_of, entry.path / container, number)
    return Stream(reading.text(files, options, lambda: False), content_type="text/plain")


def _attempt(entry: Entry, pod: Pod, asked: str, previous: bool) -> tuple[str, int]:
    """The container and the attempt that a request wants: one of those that have a log here."""
    attempts = kept.attempts(entry.path)
    name = asked or (next(iter(attempts)) if len(attempts) == 1 else "")
    if not name:
        choice = " ".join(attempts)
        raise status.bad_request(f"a container name must be specified for pod {pod.name}, choose one of: [{choice}]")
    if name not in attempts:
        raise status.bad_request(f'no log of container "{cut(name)}" of removed pod {pod.name} was kept')
    numbers = attempts[name]
    if not previous:
        return name, numbers[-1]
    if len(numbers) == 1:
        raise status.bad_request(f'previous terminated container "{name}" in pod "{pod.name}" not found')
    return name, numbers[-2]


def _since(query: kubelet.Query) -> str:
    """In the format of the records of a log."""
    if (seconds := kubelet.number(query, "sinceSeconds")) is not None:
        moment = datetime.now(UTC) - timedelta(seconds=min(seconds, _LONGEST_AGO))
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
    return kubelet.since_time(query).replace("Z", ".000000000Z")
