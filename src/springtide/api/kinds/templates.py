# SPDX-License-Identifier: Apache-2.0
"""The fields of a pod template that Springtide reads or extends, with their types, so that errors name the field.

The template itself stays a raw mapping and is sent to the API server as the user wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from springtide.api.kinds.fields import Wire


class Variable(Wire, frozen=True, kw_only=True):
    name: str = ""
    value: str | None = None


class Port(Wire, frozen=True, kw_only=True):
    name: str | None = None
    container_port: int | None = None
    protocol: str | None = None


class Resources(Wire, frozen=True, kw_only=True):
    limits: dict[str, Any] | None = None
    requests: dict[str, Any] | None = None


class SecurityContext(Wire, frozen=True, kw_only=True):
    run_as_user: int | None = None
    fs_group: int | None = None


class Named(Wire, frozen=True, kw_only=True):
    """A volume, mount or container of which only the name is read."""

    name: str = ""


class Container(Wire, frozen=True, kw_only=True):
    name: str = ""
    image: str = ""
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    env: tuple[Variable, ...] | None = None
    ports: tuple[Port, ...] | None = None
    resources: Resources | None = None
    volume_mounts: tuple[Named, ...] | None = None
    security_context: SecurityContext | None = None


class DNSConfig(Wire, frozen=True, kw_only=True):
    searches: tuple[str, ...] | None = None


class PodSpec(Wire, frozen=True, kw_only=True):
    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Named, ...] | None = None
    volumes: tuple[Named, ...] | None = None
    dns_config: DNSConfig | None = None
    host_network: bool | None = None
    priority_class_name: str | None = None
    restart_policy: str | None = None
    security_context: SecurityContext | None = None
    service_account_name: str | None = None


class Metadata(Wire, frozen=True, kw_only=True):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Template(Wire, frozen=True, kw_only=True):
    metadata: Metadata | None = None
    spec: PodSpec | None = None


def containers(template: Mapping[str, Any]) -> tuple[Container, ...]:
    """The containers of a valid template."""
    return containers_of(msgspec.convert(template, Template))


def containers_of(template: Template) -> tuple[Container, ...]:
    return (template.spec.containers if template.spec else None) or ()
