# SPDX-License-Identifier: Apache-2.0
"""Third-party training operators that users may install: how to recognize them, and the kinds they run. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from springtide.api.kinds.registry import RESOURCES


@dataclass(frozen=True, slots=True)
class Operator:
    name: str
    images: tuple[str, ...]
    """Patterns of image names, of any tag; `*/mpi-operator` matches any registry."""
    kinds: tuple[str, ...]
    """The kinds of jobs that it runs."""
    webhooks: tuple[str, ...] = ()
    """Patterns of the names of its admission webhooks."""

    @property
    def facts(self) -> str:
        """Which of its kinds the built-in operator runs, and which it does not."""
        run, others = self._served()
        facts = [f"this cluster runs {_joined(run)} by an operator that is built in"] if run else []
        facts += [f"this version of Springtide does not run {_joined(others)}"] if others else []
        return "; ".join(facts)

    @property
    def notice(self) -> str:
        """The notice for a user who applies its manifest to a cluster with a built-in operator."""
        _, others = self._served()
        rest = (
            "This pod does nothing and may be deleted." if others else "Nothing is left to do; this pod does nothing."
        )
        return f"{self.name}: {self.facts}. {rest}"

    def _served(self) -> tuple[list[str], list[str]]:
        """The plurals of the kinds that the built-in operator runs, and of the others."""
        served = {resource.kind for resource in RESOURCES}
        run, others = ([f"{kind}s" for kind in self.kinds if (kind in served) is wanted] for wanted in (True, False))
        return run, others


OPERATORS: Final = (
    Operator("mpi-operator", ("mpi-operator", "*/mpi-operator"), ("MPIJob",)),
    Operator(
        "tf-operator",
        ("tf-operator", "*/tf-operator", "tf_operator", "*/tf_operator", "*/tf-job-operator"),
        ("TFJob",),
    ),
    Operator("pytorch-operator", ("pytorch-operator", "*/pytorch-operator"), ("PyTorchJob",)),
    Operator(
        "training-operator",
        ("training-operator", "*/training-operator"),
        ("MPIJob", "PyTorchJob", "TFJob"),
        ("*.training-operator.kubeflow.org",),
    ),
    Operator("et-operator", ("et-operator", "*/et-operator"), ("TrainingJob",)),
)


def of_webhook(name: str) -> Operator | None:
    """The operator with a webhook of this name."""
    return next((each for each in OPERATORS if any(fnmatchcase(name, pattern) for pattern in each.webhooks)), None)


def _joined(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else ""
