# SPDX-License-Identifier: Apache-2.0
"""What stands in for training operators whose manifests people apply although the cluster has one built in.

A pod of such an image runs nothing of it. It says so in its log and in an event, and it is ready, so that a Deployment
that somebody applied out of habit neither fails nor waits for an image.
"""

from __future__ import annotations

from typing import Final

from springtide.api.operators import OPERATORS, Operator
from springtide.local.environments import patterns
from springtide.local.environments.environment import Environment, own

_WAIT: Final = 'printf "%s\\n" "$1"; trap "exit 0" TERM INT; tail -f /dev/null & wait'
"""Says its first argument, and ends when it is told to."""


def for_image(image: str) -> Operator | None:
    by_pattern = {pattern: operator for operator in OPERATORS for pattern in operator.images}
    pattern = patterns.best(by_pattern, image)
    return None if pattern is None else by_pattern[pattern]


def stand_in(operator: Operator) -> Environment:
    """What its containers run in, whatever command they ask for."""
    base, notice = own(), operator.notice
    return Environment(
        f"built-in {operator.name}",
        base.prefix,
        paths=base.paths,
        python=base.python,
        entrypoint=("/bin/sh", "-c", _WAIT, "sh", notice),
        notice=notice,
    )
