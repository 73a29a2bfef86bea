# SPDX-License-Identifier: Apache-2.0
"""Programs that were not written here, run against the embedded cluster.

SPRINGTIDE_TOOLS names the directory of the oracle's programs; `make test-oracle` sets it. A missing one fails a test.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 30.0
CRDS = sorted((Path(__file__).parents[2] / "deploy/crds").glob("*.yaml"))


def tool(name: str) -> str:
    directory = os.environ.get("SPRINGTIDE_TOOLS")
    assert directory, "SPRINGTIDE_TOOLS is not set: run this with `make test-oracle`"
    path = Path(directory) / name
    assert path.exists(), f"{path} is missing: run `make oracle`"
    return str(path)


@dataclass(frozen=True)
class Kubectl:
    """One kubectl binary in one namespace. Calling it gives what it printed; a failure fails the test."""

    program: str
    kubeconfig: Path
    namespace: str
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"KUBECONFIG": str(self.kubeconfig), "HOME": str(self.home), "KUBECTL_KUBERC": "false"}

    def run(self, *words: str, stdin: str | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.program, f"--namespace={self.namespace}", *words],
            env=self.environment | variables,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def __call__(self, *words: str, stdin: str | None = None, **variables: str) -> str:
        done = self.run(*words, stdin=stdin, **variables)
        assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def refused(self, *words: str, stdin: str | None = None) -> str:
        """What it complained of."""
        done = self.run(*words, stdin=stdin)
        assert done.returncode != 0, f"kubectl {' '.join(words)} should have failed:\n{done.stdout}"
        return done.stderr

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [self.program, f"--namespace={self.namespace}", *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=self.environment, stdout=pipe, stderr=subprocess.STDOUT, text=True)


def eventually(holds: Callable[[], bool], what: str) -> None:
    ends = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < ends, f"not in {PATIENCE} s: {what}"
        time.sleep(0.05)
