# SPDX-License-Identifier: Apache-2.0
"""The settings of a run, from its command line."""

from __future__ import annotations

from dataclasses import dataclass

from springtide.elastic.launcher.state_machine.workers import Limits


@dataclass(frozen=True, slots=True)
class Settings:
    limits: Limits
    elastic: bool
    cooldown: tuple[float, float]
    elastic_timeout: float
    heartbeat_timeout: float
