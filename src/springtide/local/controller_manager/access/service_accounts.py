# SPDX-License-Identifier: Apache-2.0
"""Creates the ServiceAccount `default` in every active namespace; without it pods are rejected.

The accounts are read from the metadata cache of garbage collection.
"""

from __future__ import annotations

from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result
from springtide.kube.errors import AlreadyExists, ApiError, NotFound
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.request import Scope
from springtide.kube.resources import NAMESPACES, SERVICEACCOUNTS, Key, Obj, Resource
from springtide.local.controller_manager.garbage_collection.heads import Head

COMPONENT = "service-account-controller"
NAME = "default"
_METADATA = Scope(metadata_only=True)


def is_active(namespace: Obj | None) -> bool:
    """Whether objects can still be created in the namespace."""
    return namespace is not None and (namespace.get("status") or {}).get("phase") == "Active"


async def create_in_namespace(client: Client, resource: Resource, obj: Obj) -> None:
    """Creates an object of every namespace; ignores an existing object and a terminating namespace."""
    try:
        await client.create(resource, obj)
    except (AlreadyExists, NotFound):
        return
    except ApiError as error:
        if not error.has_cause("NamespaceTerminating"):
            raise


def controller(informers: Informers, client: Client, _recorder: EventRecorder) -> Controller[Key]:
    async def reconcile(namespace: Key) -> Result | None:
        key = Key(namespace.name, NAME)
        if is_active(namespaces.get(namespace)) and key not in accounts:
            await create_in_namespace(client, SERVICEACCOUNTS, SERVICEACCOUNTS.describe(key))
        return None

    found: Controller[Key] = Controller("service accounts", reconcile, workers=2)
    namespaces = informers.of(NAMESPACES)
    accounts = informers.of(SERVICEACCOUNTS, _METADATA, into=Head)
    found.watches(namespaces)
    found.watches(accounts, keys=_namespace_of_default)
    return found


def _namespace_of_default(account: Head) -> list[Key]:
    return [Key("", account.metadata.namespace)] if account.metadata.name == NAME else []
