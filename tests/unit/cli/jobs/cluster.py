# SPDX-License-Identifier: Apache-2.0
"""The fake API with uids, JSON patches of owners, and conditional deletions; every kind can be listed."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.unit.kube.fake_api import FakeApi, answer, status

from springtide.kube.request import Request, Response
from springtide.kube.resources import Obj

_LISTED = ("pods", "configmaps", "nodes", "deployments", "trainingjobs", "mpijobs", "tfjobs", "pytorchjobs")


class FakeCluster(FakeApi):
    def _get(self, request: Request) -> Response:
        if request.path not in self.objects and request.path.rsplit("/", 1)[-1] in _LISTED:
            return self._page(request, self._under(request.path))
        return super()._get(request)

    def _post(self, request: Request) -> Response:
        response = super()._post(request)
        if response.status != 201:
            return response
        obj = msgspec.json.decode(response.body)
        path = f"{request.path}/{obj['metadata']['name']}"
        self.objects[path]["metadata"].setdefault("uid", f"uid-{self.version}")
        return answer(self.objects[path], 201)

    def _patch(self, request: Request) -> Response:
        body: Any = msgspec.json.decode(request.body)
        if not isinstance(body, list):
            return super()._patch(request)
        known = self.objects[request.path]
        for operation in body:
            if operation["op"] == "test" and known["metadata"]["uid"] != operation["value"]:
                return status(422, "Invalid")
        owners = {"ownerReferences": body[-1]["value"]}
        return answer(self._store(request.path, known | {"metadata": known["metadata"] | owners}, "MODIFIED"))

    def _delete(self, request: Request) -> Response:
        wanted = msgspec.json.decode(request.body).get("preconditions", {}).get("uid")
        known = self.objects.get(request.path)
        if known is not None and wanted not in (None, known["metadata"].get("uid")):
            return status(409, "Conflict")
        return super()._delete(request)

    def names(self) -> set[str]:
        return {path.split("/namespaces/")[-1].partition("/")[2] for path in self.objects}

    def of(self, name: str) -> Obj:
        """The object at the end of a path, as `secrets/a`."""
        return next(obj for path, obj in self.objects.items() if path.endswith(f"/{name}"))
