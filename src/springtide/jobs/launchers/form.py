# SPDX-License-Identifier: Apache-2.0
"""What the engine asks of a launcher, whatever it is created as."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol

from springtide.api.kinds.status import ReplicaStatus
from springtide.jobs.actions import Action
from springtide.jobs.observed import Observed, Pod

if TYPE_CHECKING:
    from springtide.jobs.endings.outcomes import Outcome
    from springtide.jobs.snapshot import Snapshot


class LauncherForm(Protocol):
    @property
    def in_batch_job(self) -> bool:
        """Its pods belong to a batch Job, which keeps the deadline and can be suspended by itself."""
        ...

    def pod(self, observed: Observed, role: str, name: str) -> Pod | None:
        """The launcher's pod: of several the one that lives."""
        ...

    def exists(self, snapshot: Snapshot) -> bool: ...

    def completed(self, snapshot: Snapshot) -> datetime | None:
        """When the launcher succeeded; None if it did not."""
        ...

    def failure(self, snapshot: Snapshot) -> Outcome | None:
        """That it has failed and is not tried again."""
        ...

    def failed(self, snapshot: Snapshot) -> Pod | None:
        """A pod whose failure the engine has to answer for."""
        ...

    def goes_on(self, snapshot: Snapshot) -> bool:
        """Whether it runs on after the job has ended, unless it is removed."""
        ...

    def replaced(self, snapshot: Snapshot) -> tuple[Pod, ...]:
        """Pods that are deleted so that another one can be created."""
        ...

    def removed(self, snapshot: Snapshot) -> tuple[Action, ...]:
        """What it takes to remove it."""
        ...

    def stopped(self, snapshot: Snapshot, others: tuple[Action, ...]) -> tuple[Action, ...]:
        """What it takes to stop it while the job is suspended, and the job's other pods with it."""
        ...

    def switched(self, snapshot: Snapshot) -> tuple[Action, ...]:
        """What it takes to suspend or resume it together with the job."""
        ...

    def relocated(self, pod: Pod) -> tuple[Pod, ...]:
        """Pods that are deleted to move the launcher off its node."""
        ...

    def relocation(self, snapshot: Snapshot) -> tuple[Action, ...]:
        """What else it takes to move the launcher off its node."""
        ...

    def counts(self, snapshot: Snapshot) -> ReplicaStatus: ...


class NoLauncher:
    """Of a kind whose replicas decide by themselves how the job ends."""

    in_batch_job = False

    def pod(self, observed: Observed, role: str, name: str) -> Pod | None:
        return None

    def exists(self, snapshot: Snapshot) -> bool:
        return False

    def completed(self, snapshot: Snapshot) -> datetime | None:
        return None

    def failure(self, snapshot: Snapshot) -> Outcome | None:
        return None

    def failed(self, snapshot: Snapshot) -> Pod | None:
        return None

    def goes_on(self, snapshot: Snapshot) -> bool:
        return False

    def replaced(self, snapshot: Snapshot) -> tuple[Pod, ...]:
        return ()

    def removed(self, snapshot: Snapshot) -> tuple[Action, ...]:
        return ()

    def stopped(self, snapshot: Snapshot, others: tuple[Action, ...]) -> tuple[Action, ...]:
        return others

    def switched(self, snapshot: Snapshot) -> tuple[Action, ...]:
        return ()

    def relocated(self, pod: Pod) -> tuple[Pod, ...]:
        return ()

    def relocation(self, snapshot: Snapshot) -> tuple[Action, ...]:
        return ()

    def counts(self, snapshot: Snapshot) -> ReplicaStatus:
        return ReplicaStatus()


NO_LAUNCHER: Final[LauncherForm] = NoLauncher()
