# SPDX-License-Identifier: Apache-2.0
"""Leases: written every few seconds for leader election and node heartbeats, so the rules are few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from springtide.api.field_errors import FieldError, invalid
from springtide.local.kinds import names
from springtide.local.kinds.columns import AGE, NAME, age_of, name_of
from springtide.local.kinds.strategy import Column, Obj, Strategy


def _drop_coordinated_election(lease: Obj) -> None:
    """Drop the fields of coordinated leader election, which is off by default in Kubernetes, and off here."""
    if spec := lease.get("spec"):
        spec.pop("strategy", None)
        spec.pop("preferredHolder", None)


def _prepare_update(new: Obj, old: Obj) -> None:
    _drop_coordinated_election(new)


def _validate(lease: Obj) -> list[FieldError]:
    spec = lease.get("spec") or {}
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    errors: list[FieldError] = []
    if seconds is not None and seconds <= 0:
        errors.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        errors.append(invalid("spec.leaseTransitions", transitions, names.NEGATIVE))
    return errors


_COLUMNS = (
    NAME,
    Column(
        "Holder",
        description="holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader "
        "Election is used, the holder identity must be equal to the elected LeaseCandidate.metadata.name field.",
    ),
    AGE,
)


def _cells(lease: Obj, now: str) -> Sequence[Any]:
    return name_of(lease), (lease.get("spec") or {}).get("holderIdentity") or "", age_of(lease, now)


LEASE = Strategy(
    prepare_create=_drop_coordinated_election,
    prepare_update=_prepare_update,
    validate=_validate,
    columns=_COLUMNS,
    cells=_cells,
)
