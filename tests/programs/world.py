# SPDX-License-Identifier: Apache-2.0
"""A cluster as a user has it: `tide` and stock kubectl, manifests from files, and patience.

cluster.kubectl("apply", "-f", "...")      what kubectl prints; a failure fails the test
cluster.until(lambda: ..., "what")         what the cluster looked like is in the failure
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conformance.programs import Kubectl
from tests.integration.cli.conftest import Tide
from tests.integration.supervisor.conftest import agents, holder, kill

from springtide.local.datadir import DataDir

FILES = Path(__file__).parent / "files"
PATIENCE = 90.0
Obj = dict[str, Any]


@dataclass(frozen=True)
class Cluster:
    tide: Tide
    kubectl: Kubectl
    tools: Path
    """Stock kubectl, where any user may run it."""

    @property
    def place(self) -> DataDir:
        return self.tide.place()

    def apply(self, file: str, **values: str) -> None:
        """A manifest of `files`, with some of its words replaced."""
        text = (FILES / file).read_text()
        for name, value in values.items():
            text = text.replace(f"${name}", value)
        self.kubectl("apply", "-f", "-", stdin=text)

    def config_map(self, name: str, *files: str) -> None:
        self.kubectl("create", "configmap", name, *(f"--from-file={FILES / file}" for file in files))

    def get(self, *words: str) -> Obj:
        found: Obj = json.loads(self.kubectl("get", *words, "-o", "json"))
        return found

    def pods(self, selector: str = "") -> dict[str, Obj]:
        found = self.get("pods", *(["-l", selector] if selector else []))
        return {pod["metadata"]["name"]: pod for pod in found["items"]}

    def phase(self, pod: str) -> str:
        found = self.pods().get(pod)
        return str(found["status"].get("phase")) if found else "gone"

    def logs(self, pod: str) -> str:
        return self.kubectl("logs", pod)

    def until(self, holds: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
        """Most ask with kubectl, which takes a tenth of a second of a core: the longer it takes, the rarer."""
        start = time.monotonic()
        while not holds():
            waited = time.monotonic() - start
            assert waited < patience, f"not in {patience} s: {what}\n{self.picture()}"
            time.sleep(min(max(0.1, waited / 10), 0.5))

    def until_job_is_done(self, name: str) -> None:
        def done() -> bool:
            kinds = {condition["type"] for condition in self.get("job", name)["status"].get("conditions", ())}
            assert "Failed" not in kinds, self.picture()
            return "Complete" in kinds

        self.until(done, f"job {name} complete")

    def until_succeeded(self, pod: str) -> None:
        def succeeded() -> bool:
            phase = self.phase(pod)
            assert phase != "Failed", self.picture()
            return phase == "Succeeded"

        self.until(succeeded, f"pod {pod} succeeded")

    def until_ready(self, selector: str, count: int) -> None:
        self.until(lambda: len(ready(self.pods(selector).values())) == count, f"{count} ready pods of {selector}")

    def picture(self) -> str:
        """What somebody would look at first."""
        parts = [self.kubectl.run("get", "pods,nodes", "-o", "wide").stdout]
        parts.append(self.kubectl.run("get", "events", "--sort-by=.metadata.creationTimestamp").stdout[-4000:])
        for name in list(self.pods())[:8]:
            parts.append(f"{name}: {self.kubectl.run('logs', name, '--tail=20').stdout}")
        return "\n".join(parts)

    def kill_server_and_agents(self) -> None:
        """Both at once, and wait for a server."""
        for process in (self.place.server_process(), *agents(self.place).values()):
            kill(process)
        self.until(lambda: self.kubectl.run("get", "--raw", "/readyz").returncode == 0, "a server again")

    def kill_holder(self) -> None:
        kill(holder(self.place))


def ready(pods: Any) -> list[str]:
    """Names of those that are ready and not on their way out."""
    return [
        pod["metadata"]["name"]
        for pod in pods
        if "deletionTimestamp" not in pod["metadata"]
        and any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", ()))
    ]


def node_of(pod: Obj) -> str:
    return str(pod["spec"].get("nodeName", ""))
