# SPDX-License-Identifier: Apache-2.0
"""Work that plans start, and that goes on beside reconciles."""

from __future__ import annotations

from dataclasses import dataclass

from springtide.controllers.inquiring import Inquirer
from springtide.controllers.scalers.scripts import Scripts


@dataclass(frozen=True, slots=True)
class Background:
    inquirer: Inquirer
    scripts: Scripts
