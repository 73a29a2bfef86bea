# SPDX-License-Identifier: Apache-2.0
"""The few fields of a pod template that are read here: who starts what, with which GPUs, and the names of its parts.

The template itself stays a raw mapping and goes to the API server as it was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from springtide.api.kinds.fields import Wire


class Variable(Wire, frozen=True, kw_only=True):
    name: str = ""
    value: str | None = None


class Resources(Wire, frozen=True, kw_only=True):
    limits: dict[str, Any] | None = None


class Container(Wire, frozen=True, kw_only=True):
    name: str = ""
    image: str = ""
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    env: tuple[Variable, ...] | None = None
    resources: Resources | None = None


class Named(Wire, frozen=True, kw_only=True):
    """A volume, or a container of which nothing else is read."""

    name: str = ""


class PodSpec(Wire, frozen=True, kw_only=True):
    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Named, ...] | None = None
    volumes: tuple[Named, ...] | None = None


class Template(Wire, frozen=True, kw_only=True):
    spec: PodSpec | None = None


def containers(template: Mapping[str, Any]) -> tuple[Container, ...]:
    """Of a template that validation has nothing against."""
    return containers_of(msgspec.convert(template, Template))


def containers_of(template: Template) -> tuple[Container, ...]:
    return (template.spec.containers if template.spec else None) or ()
