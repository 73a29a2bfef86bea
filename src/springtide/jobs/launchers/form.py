# SPDX-License-Identifier: Apache-2.0
"""The interface between the engine and a launcher, whatever object the launcher is created as."""

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
        """The pods belong to a batch Job, which enforces the deadline and can be suspended by itself."""
        ...

    def pod(self, observed: Observed, role: str, name: str) -> Pod | None:
        """The launcher's pod; of several, the one that is alive."""
        ...

    def exists(self, snapshot: Snapshot) -> bool: ...

    def completed(self, snapshot: Snapshot) -> datetime | None:
        """When the launcher succeeded; None if it did not."""
        ...

    def failure(self, snapshot: Snapshot) -> Outcome | None:
        """The outcome if the launcher has failed and is not retried."""
        ...

    def failed(self, snapshot: Snapshot) -> Pod | None:
        """A failed pod that the engine has to count and replace."""
        ...

    def goes_on(self, snapshot: Snapshot) -> bool:
        """Whether the launcher continues after the job has ended, unless it is removed."""
        ...

    def replaced(self, snapshot: Snapshot) -> tuple[Pod, ...]:
        """Pods to delete so that replacements can be created."""
        ...

    def removed(self, snapshot: Snapshot) -> tuple[Action, ...]:
        """The actions that remove the launcher."""
        ...

    def stopped(self, snapshot: Snapshot, others: tuple[Action, ...]) -> tuple[Action, ...]:
        """The actions that stop the launcher and the job's other pods while the job is suspended."""
        ...

    def switched(self, snapshot: Snapshot) -> tuple[Action, ...]:
        """The actions that suspend or resume the launcher together with the job."""
        ...

    def relocated(self, pod: Pod) -> tuple[Pod, ...]:
        """Pods to delete to move the launcher off its node."""
        ...

    def relocation(self, snapshot: Snapshot) -> tuple[Action, ...]:
        """Further actions to move the launcher off its node."""
        ...

    def counts(self, snapshot: Snapshot) -> ReplicaStatus: ...


class NoLauncher:
    """The form of a kind whose replicas determine how the job ends."""

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
