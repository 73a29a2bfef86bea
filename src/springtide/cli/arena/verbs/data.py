# SPDX-License-Identifier: Apache-2.0
"""`arena data list`: claims that are bound to a volume."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from springtide.cli.arena import outputs
from springtide.cli.arena.command_tree import Verb
from springtide.cli.arena.session import Session
from springtide.cli.flags.pflag import Flag, Kind, Parsed
from springtide.kube.request import Scope
from springtide.kube.resources import PERSISTENTVOLUMECLAIMS, Obj
from springtide.views.pages.ages import instant, seconds, short_duration
from springtide.views.pages.tables import tabwriter

_MODES: Final = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany")


def list_claims(session: Session, line: Parsed) -> None:
    everywhere = line.values["allNamespaces"]
    scope = Scope("" if everywhere else session.namespace)
    claims = session.talk(lambda client: client.list(PERSISTENTVOLUMECLAIMS, scope)).items
    outputs.show_page(table(claims, datetime.now(UTC), with_namespace=everywhere))


def table(claims: list[Obj], now: datetime, *, with_namespace: bool) -> str:
    heads = ["NAME", *(["NAMESPACE"] if with_namespace else []), "ACCESSMODE", "DESCRIPTION", "OWNER", "AGE"]
    rows = [heads, *(_row(claim, now, with_namespace) for claim in claims if _is_bound(claim))]
    return tabwriter("".join("\t".join(row) + "\n" for row in rows))


def _is_bound(claim: Obj) -> bool:
    return claim.get("status", {}).get("phase") == "Bound" and not claim["metadata"].get("deletionTimestamp")


def _row(claim: Obj, now: datetime, with_namespace: bool) -> list[str]:
    metadata = claim["metadata"]
    notes = metadata.get("annotations") or {}
    modes = claim["spec"].get("accessModes") or ()
    return [
        metadata["name"],
        *([metadata["namespace"]] if with_namespace else []),
        ",".join(mode for mode in _MODES if mode in modes),
        notes.get("description", ""),
        notes.get("owner", ""),
        short_duration(seconds(instant(metadata.get("creationTimestamp")), now)),
    ]


LIST: Final = Verb((Flag("allNamespaces", Kind.BOOL, "in all namespaces"),), list_claims)
