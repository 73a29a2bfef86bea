# SPDX-License-Identifier: Apache-2.0
"""Dependencies of the verbs (store, registry, authorizer, admission) and the parts of one call.

The clock and the generators of names and uids are fields, so that tests can replace them.
"""

from __future__ import annotations

import random
import time
import uuid
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from springtide.local.access.attributes import Authorizer
from springtide.local.access.identity import User
from springtide.local.admission.request import AdmissionRequest
from springtide.local.apiserver.encoding.objects import decode
from springtide.local.apiserver.registry.resources import Registry, Resource
from springtide.local.apiserver.replies import PLAIN, Form
from springtide.local.apiserver.requests import Request, Target
from springtide.local.apiserver.worker_thread import is_heavy
from springtide.local.kinds.strategy import Obj
from springtide.local.store.backend import Key, Record, Store

# The alphabet of generated names: without vowels, so that no words are formed.
_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def random_suffix() -> str:
    return "".join(random.choices(_SUFFIX_LETTERS, k=5))


class Admission(Protocol):
    async def mutate(self, request: AdmissionRequest) -> None: ...

    async def validate(self, request: AdmissionRequest) -> None: ...


@dataclass(slots=True)
class Context:
    store: Store
    registry: Registry
    authorizer: Authorizer
    admission: Admission
    now: Callable[[], str] = now
    new_uid: Callable[[], str] = lambda: str(uuid.uuid4())
    new_suffix: Callable[[], str] = random_suffix
    before_write: dict[str, list[Callable[[Obj, Obj | None], None]]] = field(default_factory=dict)
    """Storage name -> functions that complete an object about to be written (service addresses)."""
    guards: dict[str, Callable[[User, Obj, Obj | None], None]] = field(default_factory=dict)
    """Storage name -> check whether the user may replace the old object by the new one; raises StatusError (RBAC)."""
    long_selectors: weakref.WeakKeyDictionary[object, int] = field(default_factory=weakref.WeakKeyDictionary)
    """Active watch -> length of its selector in characters, for long selectors."""


@dataclass(slots=True)
class Call:
    """One request to one resource."""

    request: Request
    target: Target
    resource: Resource
    form: Form = PLAIN

    def is_heavy(self, stored: bytes = b"") -> bool:
        """Whether the body, together with the stored object, is too large to be processed on the event loop."""
        return self.resource.codec.costly or is_heavy(self.request.body, stored)

    def key(self, name: str = "") -> Key:
        return Key(
            self.resource.storage, self.target.namespace if self.resource.namespaced else "", name or self.target.name
        )


class StoreReader:
    """Read access to other objects for admission and subresources; returns decoded copies."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, resource: str, namespace: str, name: str) -> Obj | None:
        record = self._store.get(Key(resource, namespace, name))
        return decode(record.body) if record is not None else None

    def list(self, resource: str, namespace: str = "") -> list[Obj]:
        return [decode(record.body) for record in self.records(resource, namespace)]

    def records(self, resource: str, namespace: str = "") -> Iterable[Record]:
        return self._store.list(resource, namespace)
