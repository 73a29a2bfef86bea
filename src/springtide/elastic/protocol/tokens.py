# SPDX-License-Identifier: Apache-2.0
"""The line by which an agent that made its own token announces it to the launcher. Pure.

Where the launcher cannot write to an agent's standard input, as under kubexec.sh, the agent makes the token and prints
it on its standard output, which the launcher alone reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_MARK: Final = "tiderun-agent-tokens"


def announcement(workers: Sequence[int], tokens: Sequence[str]) -> str:
    """The line that announces the tokens of these workers."""
    return f"{_MARK} {','.join(map(str, workers))} {','.join(tokens)}"


def announced(line: str) -> dict[int, str] | None:
    """The tokens by worker; None for any other line."""
    mark, _, rest = line.partition(" ")
    workers, _, tokens = rest.partition(" ")
    if mark != _MARK:
        return None
    pairs = zip(workers.split(","), tokens.strip().split(","), strict=False)
    return {int(worker): token for worker, token in pairs if worker.isdecimal() and len(worker) < 20}
