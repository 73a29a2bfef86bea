# SPDX-License-Identifier: Apache-2.0
"""Formatting of table cells that many kinds share: names, ages, lists shortened to a width.

`kubectl get` shows the server's Table, so cells are formatted here as by kube-apiserver's printers, with its
descriptions. The current time is an argument (`now`, RFC 3339): printing is a pure function of the object.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache

from springtide.local.kinds.strategy import Column, Obj
from springtide.views.pages.ages import human_duration

NAME = Column(
    "Name",
    format="name",
    description=(
        "Name must be unique within a namespace. Is required when creating resources, although some resources may "
        "allow a client to request the generation of an appropriate name automatically. Name is primarily intended "
        "for creation idempotence and configuration definition. Cannot be updated. More info: "
        "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
    ),
)
AGE = Column(
    "Age",
    description=(
        "CreationTimestamp is a timestamp representing the server time when this object was created. It is not "
        "guaranteed to be set in happens-before order across separate operations. Clients may not set this value. "
        "It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. "
        "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
    ),
)

UNKNOWN, NONE, UNSET = "<unknown>", "<none>", "<unset>"


def name_of(obj: Obj) -> str:
    name: str = obj["metadata"].get("name", "")
    return name


def age_of(obj: Obj, now: str) -> str:
    return since(obj["metadata"].get("creationTimestamp"), now)


def since(moment: str | None, now: str) -> str:
    """Time since a moment; `<unknown>` without one."""
    if not moment:
        return UNKNOWN
    return human_duration((_instant(now) - _instant(moment)).total_seconds())


def until(moment: str | None, now: str) -> str:
    if not moment:
        return UNKNOWN
    return human_duration((_instant(moment) - _instant(now)).total_seconds())


@lru_cache(maxsize=4096)
def _instant(moment: str) -> datetime:
    return datetime.fromisoformat(moment)


def labels_text(labels: Mapping[str, str] | None) -> str:
    """`a=1,b=2`, sorted; `<none>` for none."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) if labels else NONE


def selector_text(selector: Obj | None) -> str:
    """A LabelSelector in text form: `app=web,tier in (a,b),!legacy`."""
    if not selector:
        return NONE
    needs = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    for need in selector.get("matchExpressions") or ():
        key, values = need["key"], ",".join(sorted(need.get("values") or ()))
        needs.append((key, _EXPRESSIONS[need["operator"]].format(key=key, values=values)))
    return ",".join(text for _, text in sorted(needs)) or NONE


_EXPRESSIONS = {
    "In": "{key} in ({values})",
    "NotIn": "{key} notin ({values})",
    "Exists": "{key}",
    "DoesNotExist": "!{key}",
}
