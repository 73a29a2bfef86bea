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
    """Begins chores one after another. In the end what is at `pending` must be gone, what is at `orphans` must not."""

    def __init__(self, api: Api, chance: random.Random) -> None:
        self._api, self._chance = api, chance
        self.pending: dict[str, str] = {}
        self.orphans: set[str] = set()
        self.begun = 0

    async def run(self, stop: asyncio.Event) -> None:
        kinds: list[Callable[[str], Awaitable[None]]] = [self._namespace, self._owner, self._cycle, self._definition]
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
            left += [f"owner of {path}" for path in self.orphans if not await self._is_free(path)]
            if not left or asyncio.get_running_loop().time() > deadline:
                return left
            await asyncio.sleep(0.05)

    async def _is_free(self, path: str) -> bool:
        code, orphan = await self._api.insist("GET", path)
        return code == 200 and not orphan["metadata"].get("ownerReferences")

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
        secrets = f"{CORE}/namespaces/{NAMESPACE}/secrets"
        owner = await self._make(secrets, {"metadata": {"name": name}})
        reference = {"apiVersion": "v1", "kind": "Secret", "name": name, "uid": owner["metadata"]["uid"]}
        reference["blockOwnerDeletion"] = True
        dependents = {f"{secrets}/{name}-{number}" for number in range(OBJECTS)}
        for path in dependents:
            metadata = {"name": path.rpartition("/")[2], "ownerReferences": [reference]}
            await self._make(secrets, {"metadata": metadata})
        policy = self._chance.choice(("Background", "Foreground", "Orphan"))
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy}
        await self._delete(f"{secrets}/{name}", options)
        self.pending[f"{secrets}/{name}"] = f"owner {name} ({policy})"
        if policy == "Orphan":
            self.orphans |= dependents
        else:
            self.pending |= dict.fromkeys(dependents, f"dependent of {name} ({policy})")

    async def _cycle(self, name: str) -> None:
        """Secrets that own each other, or one that owns itself: some of them deleted, all of them to go."""
        secrets = f"{CORE}/namespaces/{NAMESPACE}/secrets"
        names = [f"{name}-{number}" for number in range(self._chance.randint(1, OBJECTS))]
        made = [await self._make(secrets, {"metadata": {"name": each}}) for each in names]
        for number, each in enumerate(names):
            owner = {"apiVersion": "v1", "kind": "Secret", "name": names[number - 1], "blockOwnerDeletion": True}
            owner["uid"] = made[number - 1]["metadata"]["uid"]
            patch = {"metadata": {"ownerReferences": [owner]}}
            code, answer = await self._api.send("PATCH", f"{secrets}/{each}", patch, "application/merge-patch+json")
            assert code == 200, f"PATCH {each}: {code} {answer.get('message')}"
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"}
        for each in self._chance.sample(names, self._chance.randint(1, len(names))):
            code, answer = await self._api.send("DELETE", f"{secrets}/{each}", options)
            assert code in (200, 202, 404), (
                f"DELETE {each}: {code} {answer.get('message')}"
            )  # 404: an earlier one did it
            self.pending |= {f"{secrets}/{each}": f"cycle of {len(names)} owners {name}" for each in names}

    async def _definition(self, name: str) -> None:
        plural = f"gadgets{self.begun}"
        made = definition(plural, f"Gadget{self.begun}")
        await self._make(DEFINITION_PATH, made)
        objects = f"/apis/example.com/v1/namespaces/{NAMESPACE}/{plural}"
        await self._api.served(objects)
        for number in range(OBJECTS):
            kind = {"apiVersion": "example.com/v1", "kind": f"Gadget{self.begun}"}
            await self._make(objects, {**kind, "metadata": {"name": f"g{number}"}})
        await self._delete(f"{DEFINITION_PATH}/{plural}.example.com")
        self.pending[f"{DEFINITION_PATH}/{plural}.example.com"] = f"definition of {plural}"
        self.pending[objects] = f"served {plural}"
