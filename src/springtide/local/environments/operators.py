# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for training operators that are built into the cluster, for users who apply their manifests anyway.

A pod of such an image does not run its program. It explains that in its log and in an event, and is ready, so that a
Deployment applied out of habit neither fails nor waits for an image.
"""

from __future__ import annotations

from typing import Final

from springtide.api.operators import OPERATORS, Operator
from springtide.local.environments import patterns
from springtide.local.environments.environment import Environment, own

_WAIT: Final = 'printf "%s\\n" "$1"; trap "exit 0" TERM INT; tail -f /dev/null & wait'
"""Prints its first argument, and exits on SIGTERM or SIGINT."""


def for_image(image: str) -> Operator | None:
    by_pattern = {pattern: operator for operator in OPERATORS for pattern in operator.images}
    pattern = patterns.best(by_pattern, image)
    return None if pattern is None else by_pattern[pattern]


def stand_in(operator: Operator) -> Environment:
    """The environment of its containers, whatever their command is."""
    base, notice = own(), operator.notice
    return Environment(
        f"built-in {operator.name}",
        base.prefix,
        paths=base.paths,
        python=base.python,
        entrypoint=("/bin/sh", "-c", _WAIT, "sh", notice),
        notice=notice,
    )
