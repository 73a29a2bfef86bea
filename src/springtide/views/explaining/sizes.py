# SPDX-License-Identifier: Apache-2.0
"""Sizes that do not run as requested: out of bounds, above the operator's limit, too few to start, deferred."""

from __future__ import annotations

import re
from typing import Final

from springtide.messages import FromOperator, text
from springtide.views.explaining import reading
from springtide.views.explaining.evidence import Cause, Evidence, Fact, Obj

_BOUNDED: Final = re.compile(
    r"(?P<asked>\d+) workers are requested, (?P<run>\d+) run: must be (?P<bounds>.*), as (?P<source>.*) says"
)
_LIMITED: Final = re.compile(r"(?P<asked>.*?) (?:is|are) requested, at most (?P<most>\d+) are allowed")


def bounds(evidence: Evidence) -> Cause | None:
    found = evidence.condition("SizeOutOfBounds")
    if found is None:
        return None
    least, most = evidence.status.get("minReplicas"), evidence.status.get("maxReplicas")
    parsed = _BOUNDED.match(str(found.get("message") or ""))
    facts = [_of_condition(evidence, found)]
    if least is not None:
        facts.append(Fact(evidence.title, "status.minReplicas", str(least)))
    if most is not None:
        facts.append(Fact(evidence.title, "status.maxReplicas", str(most)))
    if parsed is None:
        why = text("its size is out of bounds: {said}", said=facts[0].said)
        return Cause("Bounds", why, tuple(facts), _scale(evidence, most or least or "N"))
    run = parsed["run"]
    why = text(
        "{asked} workers are requested, and its bounds allow at least {least}", asked=parsed["asked"], least=least
    )
    if most is not None:
        why = text(
            "{asked} workers are requested, and its bounds allow {least} to {most}",
            asked=parsed["asked"],
            least=least,
            most=most,
        )
    return Cause("Bounds", why, tuple(facts), _scale(evidence, run))


def limited(evidence: Evidence) -> Cause | None:
    """More workers than the operator runs in one job."""
    found = evidence.condition("TooManyWorkers")
    if found is None:
        return None
    fact = _of_condition(evidence, found)
    parsed = _LIMITED.match(str(found.get("message") or ""))
    if parsed is None:
        return Cause("Limited", text("the operator runs no job of this size"), (fact,), _scale(evidence, "N"))
    why = text(
        "{asked} requested, and the operator runs at most {most} in a job", asked=parsed["asked"], most=parsed["most"]
    )
    return Cause("Limited", why, (fact,), _scale(evidence, parsed["most"]))


def too_few(evidence: Evidence) -> Cause | None:
    found = evidence.condition("CannotStart") or evidence.condition("NamesUsedUp")
    if found is None:
        return None
    fact = _of_condition(evidence, found)
    command = f"kubectl edit {evidence.title} -n {evidence.namespace}"
    if (asked := re.search(r"ask for (\d+) workers", str(found.get("message") or ""))) is not None:
        command = _scale(evidence, asked[1])
    why = text("{said}", said=FromOperator(reading.clause(str(found.get("message") or ""))))
    return Cause(str(found.get("reason") or "CannotStart"), why, (fact,), command)


def deferred(evidence: Evidence) -> Cause | None:
    """A size that counts from the next start only."""
    found = evidence.condition("SizeDeferred")
    if found is None:
        return None
    why = text("the new size counts from the next start: {said}", said=FromOperator(str(found.get("message") or "")))
    command = f"tide restart {evidence.name} -n {evidence.namespace}"
    return Cause("SizeDeferred", why, (_of_condition(evidence, found),), command)


def _scale(evidence: Evidence, workers: object) -> str:
    return f"tide scale {evidence.name} --workers {workers} -n {evidence.namespace}"


def _of_condition(evidence: Evidence, found: Obj) -> Fact:
    said = reading.one_line(str(found.get("message") or ""))
    return Fact(evidence.title, f"status.conditions[{found.get('type')}]", said)
