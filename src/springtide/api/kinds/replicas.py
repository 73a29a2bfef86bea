# SPDX-License-Identifier: Apache-2.0
"""A role of a job: its pod template, the number of replicas, and the restart policy. The names of roles that several
kinds share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Final

from msgspec import field

from springtide.api.kinds.elastic_policy import MOST_WORKERS
from springtide.api.kinds.fields import Int32, PodTemplate, Wire, doc, one_of, rules

LAUNCHER: Final = "Launcher"
WORKER: Final = "Worker"
MASTER: Final = "Master"
CHIEF: Final = "Chief"
PS: Final = "PS"
EVALUATOR: Final = "Evaluator"


class RestartPolicy(StrEnum):
    NEVER = "Never"
    ON_FAILURE = "OnFailure"
    ALWAYS = "Always"
    EXIT_CODE = "ExitCode"


class ReplicaSpec(Wire, frozen=True, kw_only=True):
    replicas: Annotated[Int32 | None, doc("The number of pods of this role.")] = None
    template: PodTemplate = field(default_factory=dict)
    restart_policy: Annotated[
        str | None,
        doc(
            "Whether the containers of a pod are restarted when they end. Overrides the restartPolicy of the template.",
            one_of(RestartPolicy),
        ),
    ] = None


REPLICA_NEEDS: Final = {"required": ["template"]}
"""The fields that the CRD requires of every role."""


_MOST_KEYS: Final = 16
"""More than any kind has roles: unknown and repeated ones get an error of their own."""

ReplicaSpecs = dict[str, ReplicaSpec]
"""The roles of a job whose keys are matched in any case, and stored as the user wrote them."""


def roles(text: str, names: Sequence[str], least: int, *more: tuple[str, str]) -> Any:
    """What the CRD says of `ReplicaSpecs`: these roles, each with at least so many replicas; `more` are rules."""
    # Not required by schema: of two spellings of a role, one of which `kubectl scale` has added, nothing else would be
    # said, because rules are only evaluated where the schema holds.
    template = rules(("has(self.template)", "a role has the template of its pods", ".template", "FieldValueRequired"))
    of_role = {"properties": {"replicas": {"minimum": least, "maximum": MOST_WORKERS, "default": 1}}, **template}
    return doc(
        text,
        rules(
            _known(names),
            (
                "self.all(role, self.all(other, role == other || role.lowerAscii() != other.lowerAscii()))",
                "a role must not be given twice in different spellings; kubectl scale and autoscalers need " + WORKER,
            ),
            *more,
        ),
        additionalProperties=of_role,
        minProperties=1,
        maxProperties=_MOST_KEYS,
    )


def _known(names: Sequence[str]) -> dict[str, str]:
    """The rule that every role is one of these; its error names the first that is not, which may be a typing error."""
    among = f"role.lowerAscii() in [{', '.join(repr(name.lower()) for name in names)}]"
    message = f"the roles are {', '.join(names)}"
    return {
        "rule": f"self.all(role, {among})",
        "message": message,  # where the expression cannot be evaluated
        "messageExpression": f"'\"' + self.filter(role, !({among}))[0] + '\" is not a role; {message}'",
    }


def canonical(given: str, names: Iterable[str]) -> str | None:
    """The name of the role that is spelled this way; None for an unknown one."""
    return next((name for name in names if name.lower() == given.lower()), None)


def spelling(given: Iterable[str], name: str) -> str:
    """How the role is spelled there; its own name if it is not there."""
    return next((each for each in given if each.lower() == name.lower()), name)


def by_role(specs: Mapping[str, ReplicaSpec], names: Sequence[str]) -> dict[str, ReplicaSpec]:
    """The roles under their names, in the order of `names`. Unknown ones are left out; of two spellings the first
    counts."""
    found: dict[str, ReplicaSpec] = {}
    for given, spec in specs.items():
        if name := canonical(given, names):
            found.setdefault(name, spec)
    return {name: found[name] for name in names if name in found}
