# SPDX-License-Identifier: Apache-2.0
"""Work the cluster goes on with by itself, begun shortly before a kill: it must be finished in a later life."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from tests.crash.shapes import DEFINITION_PATH, NAMESPACE, Obj, definition
from tests.crash.writers import BROKEN, Api

CORE = "/api/v1"
OBJECTS = 6
PATIENCE = 30.0


class Chores:
    """Begins chores one after another; `pending` are paths whose objects must be gone in the end."""

    def __init__(self, api: Api, chance: random.Random) -> None:
        self._api, self._chance = api, chance
        self.pending: dict[str, str] = {}
        self.begun = 0

    async def run(self, stop: asyncio.Event) -> None:
        kinds: list[Callable[[str], Awaitable[None]]] = [self._namespace, self._owner, self._definition]
        while not stop.is_set():
            await self._api.up.wait()
            self.begun += 1
            try:
                await self._chance.choice(kinds)(f"chore-{self.begun}")
            except BROKEN:
                continue  # not begun as far as we know; only acknowledged deletions count
            await asyncio.sleep(self._chance.uniform(0, 0.2))

    async def unfinished(self) -> list[str]:
        """What is still there although its deletion was acknowledged, after all patience."""
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while True:
            left = [what for path, what in self.pending.items() if (await self._api.insist("GET", path))[0] != 404]
            if not left or asyncio.get_running_loop().time() > deadline:
                return left
            await asyncio.sleep(0.05)

    async def _make(self, collection: str, obj: Obj) -> Obj:
        code, answer = await self._api.send("POST", collection, obj)
        assert code == 201, f"{collection}: {code} {answer.get('message')}"
        return answer

    async def _delete(self, path: str, body: Obj | None = None) -> None:
        code, answer = await self._api.send("DELETE", path, body)
        assert code in (200, 202), f"DELETE {path}: {code} {answer.get('message')}"

    async def _namespace(self, name: str) -> None:
        await self._make(f"{CORE}/namespaces", {"metadata": {"name": name}})
        maps = f"{CORE}/namespaces/{name}/configmaps"
        for number in range(OBJECTS):
            await self._make(maps, {"metadata": {"name": f"{name}-{number}"}})
        await self._delete(f"{CORE}/namespaces/{name}")
        self.pending |= {f"{maps}/{name}-{number}": f"configmap of namespace {name}" for number in range(OBJECTS)}
        self.pending[f"{CORE}/namespaces/{name}"] = f"namespace {name}"

    async def _owner(self, name: str) -> None:
        maps = f"{CORE}/namespaces/{NAMESPACE}/secrets"
        owner = await self._make(maps, {"metadata": {"name": name}})
        reference = {"apiVersion": "v1", "kind": "Secret", "name": name, "uid": owner["metadata"]["uid"]}
        reference["blockOwnerDeletion"] = True
        for number in range(OBJECTS):
            await self._make(maps, {"metadata": {"name": f"{name}-{number}", "ownerReferences": [reference]}})
        policy = self._chance.choice(("Background", "Foreground"))
        await self._delete(f"{maps}/{name}", {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy})
        self.pending |= {f"{maps}/{name}-{number}": f"dependent of {name} ({policy})" for number in range(OBJECTS)}
        self.pending[f"{maps}/{name}"] = f"owner {name} ({policy})"

    async def _definition(self, name: str) -> None:
        plural = f"gadgets{self.begun}"
        made = definition(plural, f"Gadget{self.begun}")
        await self._make(DEFINITION_PATH, made)
        objects = f"/apis/example.com/v1/namespaces/{NAMESPACE}/{plural}"
        while (await self._api.send("GET", objects))[0] == 404:
            await asyncio.sleep(0.005)
        for number in range(OBJECTS):
            await self._make(
                objects,
                {"apiVersion": "example.com/v1", "kind": f"Gadget{self.begun}", "metadata": {"name": f"g{number}"}},
            )
        await self._delete(f"{DEFINITION_PATH}/{plural}.example.com")
        self.pending[f"{DEFINITION_PATH}/{plural}.example.com"] = f"definition of {plural}"
        self.pending[objects] = f"served {plural}"
