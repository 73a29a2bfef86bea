# SPDX-License-Identifier: Apache-2.0
"""The registry of served resources: built-in ones from generated discovery data, custom ones from CRDs.

A `Resource` is one (group, version, plural). All differences between kinds are data on it or on its `Strategy`, so the
verbs are written once. Only the registry changes while the server runs, when CRDs are created or deleted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import msgspec

from springtide.api.field_errors import FieldError
from springtide.local.kinds.strategy import Obj, Strategy
from springtide.local.schema.defaults import Room
from springtide.local.schema.node import Node

ALL_VERBS = frozenset({"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"})


class Codec(Protocol):
    """Converts a request body to an object of the resource."""

    @property
    def node(self) -> Node: ...

    @property
    def costly(self) -> bool: ...

    def decode(self, obj: Obj) -> tuple[Obj, list[str]]:
        """The object with the fields of the schema, and the paths of unknown fields."""

    def default(self, obj: Obj, room: Room) -> None:
        """Fill in defaults; TooManyDefaults when they exceed the room."""

    @property
    def validate(self) -> Callable[[Obj, Obj | None, bool], Awaitable[list[FieldError]]] | None:
        """(new, old, heavy) -> errors in the values; None where the kind's strategy does all validation."""


@dataclass(frozen=True, slots=True)
class Subresource:
    name: str
    kind: str
    verbs: frozenset[str]
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Paths of a custom resource's replica count; each a tuple of field names."""

    spec: tuple[str, ...]
    status: tuple[str, ...]
    selector: tuple[str, ...] = ()


@dataclass(eq=False)
class Resource:
    group: str
    version: str
    plural: str
    kind: str
    singular: str
    namespaced: bool
    strategy: Strategy
    make_codec: Callable[[], Codec]
    """Called on first use: schemas take time and memory, and most clusters use few kinds."""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: frozenset[str] = ALL_VERBS
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    custom: bool = False
    scale_paths: ScalePaths | None = None
    unconditional_update: bool = True
    """Whether a PUT without resourceVersion replaces any version."""
    create_on_update: bool = False
    answers_deleted: bool = False
    """Whether DELETE returns the object instead of a Status."""
    orphans_by_default: bool = False
    collected: bool = True
    """Whether propagation policies apply to the kind; events have no dependents."""
    storage_version: str = ""
    """The stored version, where it is another one."""
    deprecation: str = ""
    """Warning in every response about the kind."""
    to_storage: Callable[[Obj], Obj] | None = None
    from_storage: Callable[[Obj], Obj] | None = None
    """For the few kinds whose versions differ in shape (events); None: the stored body is valid in every version."""
    check_stored: Callable[[Obj, Room], None] | None = None
    """Raises TooManyDefaults when the stored version's defaults exceed the room; `to_storage` then omits them, because
    existing objects must remain changeable and deletable."""
    held: Callable[[Obj], bool] | None = None
    """Whether something besides metadata.finalizers holds a deleted object (a namespace: its content)."""
    on_deletion: Callable[[Obj], None] | None = None
    """Changes the object itself when its deletion begins (a namespace: phase Terminating)."""
    grace: Callable[[Obj, int | None], int] | None = None
    """(object, requested) -> grace period in seconds (pods)."""
    name_rule: Callable[[str], Sequence[str]] | None = None
    terminating: bool = False
    """Its definition is being deleted with all objects: creates are rejected."""

    @cached_property
    def codec(self) -> Codec:
        return self.make_codec()

    @cached_property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def go_type(self) -> str:
        """The Go type of the kind, used in a few messages."""
        if self.custom:
            return "unstructured.Unstructured"
        return f"{(self.group or 'core').partition('.')[0]}.{self.kind}"

    @cached_property
    def error_group(self) -> str:
        """The group in errors; for events that of the stored resource."""
        return "" if self.plural == "events" else self.group

    @cached_property
    def storage(self) -> str:
        group = "" if self.plural == "events" else self.group  # both event groups serve the same objects
        return f"{self.plural}.{group}" if group else self.plural

    @cached_property
    def prefix(self) -> bytes:
        """Replaces the opening brace of a stored body."""
        return f'{{"kind":"{self.kind}","apiVersion":"{self.api_version}",'.encode()


class Registry:
    """All served resources by (group, version, plural)."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._resources = {(r.group, r.version, r.plural): r for r in resources}
        self._builtin_groups = {r.group for r in self._resources.values() if not r.custom}

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._resources.get((group, version, plural))

    def all(self) -> list[Resource]:
        return list(self._resources.values())

    def has_builtin_group(self, group: str) -> bool:
        return group in self._builtin_groups

    def replace_custom(self, group: str, plural: str, resources: Iterable[Resource]) -> None:
        """Replace all versions of one CRD at once."""
        kept = {
            key: r for key, r in self._resources.items() if not (r.custom and (r.group, r.plural) == (group, plural))
        }
        kept.update({(r.group, r.version, r.plural): r for r in resources})
        self._resources = kept


_GENERATED = Path(__file__).parents[1] / "generated"

# Properties of built-in kinds that are not in the discovery data.
_ANSWERS_DELETED = frozenset(
    {"storageclasses", "resourcequotas", "persistentvolumes", "serviceaccounts", "persistentvolumeclaims",
     "namespaces", "pods", "services"}
)  # fmt: skip
_NEEDS_VERSION = frozenset(
    {"poddisruptionbudgets", "leases", "validatingwebhookconfigurations", "customresourcedefinitions"}
)
_CREATE_ON_UPDATE = frozenset(
    {"roles", "rolebindings", "clusterroles", "clusterrolebindings", "leases", "events", "services", "endpoints"}
)
_DEPRECATIONS = {("", "endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"}


def discovery_data() -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = msgspec.json.decode((_GENERATED / "discovery.json").read_bytes())
    return data


def openapi_file(group: str, version: str) -> Path:
    return _GENERATED / f"openapi.{f'{group}.' if group else ''}{version}.json.gz"


def builtin_resource(group: str, version: str, entry: Mapping[str, Any], **parts: Any) -> Resource:
    """A resource from one entry of the discovery data; `parts` are the strategy, the codec factory and overrides."""
    plural = entry["resource"]
    subresources = {
        sub["subresource"]: Subresource(
            sub["subresource"],
            sub["responseKind"]["kind"],
            frozenset(sub["verbs"]),
            sub["responseKind"].get("group", ""),
            sub["responseKind"].get("version", ""),
        )
        for sub in entry.get("subresources", ())
    }
    facts: dict[str, Any] = {
        "list_kind": entry["responseKind"]["kind"] + "List",
        "short_names": tuple(entry.get("shortNames", ())),
        "categories": tuple(entry.get("categories", ())),
        "verbs": frozenset(entry["verbs"]),
        "subresources": subresources,
        "unconditional_update": plural not in _NEEDS_VERSION,
        "create_on_update": plural in _CREATE_ON_UPDATE,
        "answers_deleted": plural in _ANSWERS_DELETED,
        "orphans_by_default": (group, plural) == ("batch", "jobs"),
        "collected": plural != "events",
        "storage_version": "v1beta1" if plural == "customresourcedefinitions" else "",
        "deprecation": _DEPRECATIONS.get((group, plural), ""),
    }
    kind, scope = entry["responseKind"]["kind"], entry["scope"]
    return Resource(group, version, plural, kind, entry["singularResource"], scope == "Namespaced", **(facts | parts))
