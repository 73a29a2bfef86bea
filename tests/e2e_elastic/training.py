# SPDX-License-Identifier: Apache-2.0
"""Runs of real programs with real frameworks, which take long to load."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from tests.e2e_elastic.environments import ROOT
from tests.integration.elastic.launching import Elastic, until

PATIENCE = 150.0
ONE, TWO, THREE = "127.0.0.1:1", "127.0.0.2:1", "127.0.0.3:1"


def quiet() -> dict[str, str]:
    """One thread for each: there are more ranks than cores."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"), "1")
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    return {**one, "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": path}


class Training(Elastic):
    """Its programs say `rank R of N trains from step S pid P` when they begin, and again after a reset."""

    def __init__(self, folder: Path, hosts: str, python: Path, *program: str, **variables: str) -> None:
        options = ["-np", "2", "--min-np", "1", "--max-np", "3", "--blacklist-cooldown-range", "1", "2"]
        environment: Mapping[str, str] = {**quiet(), **variables}
        super().__init__(folder, hosts, *options, program=(str(python), *program), environment=environment)

    def saw(self, pattern: str, times: int = 1) -> list[re.Match[str]]:
        def found() -> list[re.Match[str]] | None:
            matches = [match for line in list(self.lines) if (match := re.search(pattern, line))]
            assert len(matches) >= times or self.process.poll() is None, f"ended before {pattern!r}:\n{self.text}"
            return matches if len(matches) >= times else None

        try:
            return until(found, f"{pattern} {times} times", PATIENCE)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.text}") from None

    def ended(self) -> int:
        try:
            until(lambda: self.process.poll() is not None, "its end", PATIENCE)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.text}") from None
        return super().ended()

    def pid(self, rank: int, size: int) -> int:
        """Of whoever became this rank last."""
        return int(self.saw(rf"rank {rank} of {size} .* pid (\d+)")[-1][1])
