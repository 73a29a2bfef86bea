# SPDX-License-Identifier: Apache-2.0
"""Headless Services that give pods DNS names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from springtide.api.job import Job
from springtide.jobs.kind import Wanted
from springtide.jobs.objects import named


def headless(
    job: Job[Any],
    name: str,
    selector: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    ports: Sequence[Mapping[str, Any]] = (),
    early: bool = True,
) -> Wanted:
    """`early`: names resolve before pods are ready, because pods wait for each other by other means than DNS."""
    spec: dict[str, Any] = {"clusterIP": "None", "selector": dict(selector), "publishNotReadyAddresses": early}
    spec |= {"ports": [dict(port) for port in ports]} if ports else {}
    manifest = {"apiVersion": "v1", "kind": "Service", "metadata": named(job, name, labels=labels), "spec": spec}
    return Wanted(manifest, kept=("spec",), whole=("spec.selector",))
