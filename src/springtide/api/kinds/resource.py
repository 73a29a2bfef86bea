# SPDX-License-Identifier: Apache-2.0
"""How a kind is served: all parts of a CustomResourceDefinition except the schemas of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from springtide.api.kinds.fields import Wire


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`."""

    name: str
    type: str
    path: str
    description: str = ""
    wide: bool = False
    """Shown only with `-o wide`."""


@dataclass(frozen=True, slots=True)
class Scale:
    spec_replicas: str
    field: str
    """The path of the same field in field errors."""
    status_replicas: str = ".status.replicas"
    selector: str = ".status.selector"

    @property
    def roles(self) -> tuple[str, ...]:
        """The path of the mapping of roles; the size is that of one of them."""
        return tuple(self.spec_replicas.strip(".").split("."))[:-2]

    @property
    def role(self) -> str:
        """The spelling of that role which the scale subresource needs: it reads its path literally."""
        return self.spec_replicas.split(".")[-2]

    def field_of(self, role: str) -> str:
        """The path of that role's size in field errors, written as `field` is."""
        outer = ".".join(self.roles)
        return f"{outer}[{role}].replicas" if self.field.endswith("].replicas") else f"{outer}.{role}.replicas"


@dataclass(frozen=True, slots=True)
class Version:
    """A served version. `differs` has, by the path of a field, what only this version's schema has."""

    name: str
    storage: bool = False
    differs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Made:
    """A type of object that jobs of a kind own besides pods, batch Jobs, Services, ConfigMaps, Secrets and rights."""

    group: str
    version: str
    plural: str
    kind: str


@dataclass(frozen=True, slots=True)
class Resource:
    group: str
    kind: str
    plural: str
    type: type[Wire]
    description: str
    """The description of the kind in `kubectl explain`."""
    versions: tuple[Version, ...]
    columns: tuple[Column, ...]
    short_names: tuple[str, ...] = ()
    scale: Scale | None = None
    makes: tuple[Made, ...] = ()
    """The operator caches objects of these types, and needs the rights to create, change and delete them."""
    rules: Mapping[str, Any] = field(default_factory=dict)
    """CEL rules for the whole object."""
    scalers: tuple[Resource, ...] = ()
    """Kinds whose objects change the size of jobs of this kind. Users create them, the operator writes their status."""

    @property
    def crd_name(self) -> str:
        return f"{self.plural}.{self.group}"


ELASTIC_COLUMNS: Final = (
    Column("State", "string", ".status.state", "The state of the job in one word"),
    Column("Workers", "string", ".status.workers", "Workers that train, of those that are wanted"),
    Column("Min", "integer", ".status.minReplicas", "The fewest workers that the job trains with"),
    Column("Max", "integer", ".status.maxReplicas", "The most workers that the job may be resized to"),
    Column("Age", "date", ".metadata.creationTimestamp"),
    Column("Step", "integer", ".status.progress.step", "The step that training has reached", wide=True),
    Column("Loss", "string", ".status.progress.loss", "The loss at that step", wide=True),
    Column("Ranks", "integer", ".status.progress.ranks", "Ranks that train together", wide=True),
)
"""The columns of every kind that can be resized."""
