# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from springtide.api.field_errors import FieldError


def rule_errors(schema: Mapping[str, Any], path: str) -> list[FieldError]:
    return []
