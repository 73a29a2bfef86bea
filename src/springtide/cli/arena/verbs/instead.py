# SPDX-License-Identifier: Apache-2.0
"""Commands of Arena that are not here: each says what to use instead."""

from __future__ import annotations

from typing import Final

from springtide.cli.arena.command_tree import Verb
from springtide.cli.arena.errors import ArenaError
from springtide.cli.arena.session import Session
from springtide.cli.flags.pflag import Parsed


def _instead(name: str, reason: str, instead: str) -> Verb:
    def refuse(session: Session, line: Parsed) -> None:
        raise ArenaError(f"arena {name} is not part of Springtide: {reason}; {instead}")

    return Verb((), refuse, takes_anything=True)


CRON: Final = _instead(
    "cron",
    "it needs the Cron resource of KubeDL",
    "run `arena submit` from a CronJob of Kubernetes, see `kubectl create cronjob --help`",
)
EVALUATE: Final = _instead(
    "evaluate", "Arena itself has given it up", "submit the evaluation as a job: `arena submit tfjob --help`"
)
LLM: Final = _instead(
    "llm", "Springtide trains and does not serve", "serve the model with KServe: https://kserve.github.io"
)
LOGVIEWER: Final = _instead(
    "logviewer", "it needs dashboards that are no longer made", "read logs with `arena logs JOB` or `arena logs -f JOB`"
)
MODEL: Final = _instead(
    "model", "it writes to an MLflow server", "use MLflow's own command line: `mlflow models --help`"
)
SERVE: Final = _instead(
    "serve", "Springtide trains and does not serve", "serve the model with KServe: https://kserve.github.io"
)
HOROVODJOB: Final = _instead(
    "submit horovodjob",
    "it is the older form of an MPIJob",
    "use `arena submit mpijob`, or `arena submit etjob` for a job that can be resized",
)
RAYJOB: Final = _instead("submit rayjob", "it needs KubeRay", "create a RayJob with kubectl")
SPARKJOB: Final = _instead(
    "submit sparkjob", "it needs the operator for Spark", "create a SparkApplication with kubectl"
)
VOLCANOJOB: Final = _instead(
    "submit volcanojob",
    "it needs Volcano",
    "use `arena submit pytorchjob --gang`, or create a Volcano Job with kubectl",
)
