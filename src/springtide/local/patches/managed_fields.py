# SPDX-License-Identifier: Apache-2.0
"""Field ownership: updates `metadata.managedFields` on every create, update, patch and apply.

The write verbs call `track` with the object as the client requested it, after defaults and before admission and
`prepare_*`, as kube-apiserver does: changes made by those have no owner. `settle` then undoes a write that changed only
timestamps. The last writer of a field owns it; entries without fields are removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from springtide.local.patches.comparison import Difference, ElementError, compare, zero
from springtide.local.patches.field_sets import SELF, FieldSet, FieldSetError, Filter, difference, parse, union
from springtide.local.schema.node import Node

Obj = dict[str, Any]
Entry = dict[str, Any]
Owner = tuple[str, str, str, str]
"""manager, operation, apiVersion (empty for Apply, which keeps one entry over all versions), subresource."""

MAX_UPDATE_MANAGERS: Final = 10
_STRIPPED_TOP: Final = frozenset({"f:apiVersion", "f:kind"})
_STRIPPED_METADATA: Final = frozenset(
    {SELF}
    | {
        f"f:{name}"
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    }
)


class ManagedFieldsError(ValueError):
    """An invalid managedFields list."""


@dataclass(frozen=True, slots=True)
class Writer:
    """The manager of a write, and the API version and subresource it uses."""

    manager: str
    api_version: str
    now: str
    """RFC 3339 in seconds, UTC."""
    kind: str = ""
    subresource: str = ""
    reset: Filter | None = None
    """Filter for fields that this subresource cannot change (`excluding("status")` on the main resource) or own."""
    nodes: Mapping[str, Node] = field(default_factory=dict)
    """Nodes of the served versions. Managers of other versions are dropped; empty: one node fits all versions."""


def manager_name(field_manager: str, user_agent: str) -> str:
    """The manager of a write: the requested `fieldManager`, else the program in the user agent."""
    if field_manager:
        return field_manager
    program = user_agent.partition("/")[0]
    return "".join(letter for letter in program if letter.isprintable()).encode()[:128].decode(errors="ignore")


def track(old: Obj | None, new: Obj, node: Node, writer: Writer) -> None:
    """Update `new["metadata"]["managedFields"]` in place; `old` is None on create.

    An object whose managedFields were reset is not tracked again before its first apply.
    """
    metadata = new.setdefault("metadata", {})
    sent = metadata.pop("managedFields", None)
    entries = _starting_point(old, sent, writer)
    if entries is None:
        return
    try:
        entries = _updated(entries, old, new, node, writer)
    except ElementError:
        return  # validation will reject this object; until then its fields have no owner
    if entries:
        metadata["managedFields"] = entries


def _starting_point(old: Obj | None, sent: Any, writer: Writer) -> list[Entry] | None:
    """The entries before this write; None when the object is not tracked."""
    live = (old.get("metadata", {}).get("managedFields") if old is not None else None) or []
    if writer.subresource or sent is None or sent == live:
        return live if live or old is None else None
    if sent == [] or sent == [{}]:
        return [] if old is None else None
    try:
        return decode(sent)
    except ManagedFieldsError:
        return live if live or old is None else None


def decode(entries: Any) -> list[Entry]:
    """managedFields from a client, checked and in canonical form."""
    out: dict[Owner, Entry] = {}
    for entry in entries if isinstance(entries, list) else [entries]:
        if not isinstance(entry, dict) or entry.get("operation") not in ("Apply", "Update"):
            raise ManagedFieldsError("operation must be `Apply` or `Update`")
        if not entry.get("apiVersion"):
            raise ManagedFieldsError("apiVersion must not be empty")
        if entry.get("fieldsType") != "FieldsV1":
            raise ManagedFieldsError("fieldsType must be FieldsV1")
        try:
            fields = parse(entry.get("fieldsV1") or {})
        except FieldSetError as error:
            raise ManagedFieldsError(str(error)) from error
        out[owner_of(entry)] = {**entry, "fieldsV1": fields}
    return list(out.values())


def owner_of(entry: Entry) -> Owner:
    operation = entry["operation"]
    version = "" if operation == "Apply" else entry["apiVersion"]
    return entry.get("manager", ""), operation, version, entry.get("subresource", "")


def entry_for(writer: Writer, operation: str, fields: FieldSet, time: str | None) -> Entry:
    entry = {"manager": writer.manager or "unknown", "operation": operation, "apiVersion": writer.api_version}
    return _finished(entry, fields, time, writer.subresource)


def _finished(head: Entry, fields: FieldSet, time: str | None, subresource: str) -> Entry:
    if time:
        head["time"] = time
    head["fieldsType"] = "FieldsV1"
    head["fieldsV1"] = fields
    if subresource:
        head["subresource"] = subresource
    return head


def _updated(entries: list[Entry], old: Obj | None, new: Obj, node: Node, writer: Writer) -> list[Entry]:
    before = unmanaged(old) if old is not None else zero(node)
    seen = differences(before, new, node, writer)
    mine = strip(seen[writer.api_version].changed)
    kept = release(entries, seen, before, new, writer)
    if mine:
        kept = _filed(kept, mine, writer)
    if kept is entries:
        return entries
    return ordered(_capped(kept))


def unmanaged(obj: Obj) -> Obj:
    """The object without managedFields, which have no owner."""
    metadata = obj.get("metadata")
    if not metadata or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def differences(before: Obj, after: Obj, node: Node, writer: Writer) -> dict[str, Difference]:
    """Differences by API version: that of the writer; `release` adds other versions when needed."""
    return {writer.api_version: _filtered(compare(before, after, node), writer)}


def _filtered(found: Difference, writer: Writer) -> Difference:
    if writer.reset is None:
        return found
    return Difference(writer.reset(found.changed), writer.reset(found.removed))


def difference_in(
    version: str, seen: dict[str, Difference], before: Obj, after: Obj, writer: Writer
) -> Difference | None:
    """The difference by another version's schema; None when that version is no longer served."""
    if version not in seen:
        if not writer.nodes:
            return seen[writer.api_version]
        node = writer.nodes.get(version)
        if node is None:
            return None
        seen[version] = _filtered(compare(before, after, node), writer)
    return seen[version]


def release(entries: list[Entry], seen: dict[str, Difference], before: Obj, after: Obj, writer: Writer) -> list[Entry]:
    """The entries without the fields that were changed or removed; the same list when there are none."""
    kept: list[Entry] = []
    same = True
    for entry in entries:
        found = difference_in(entry["apiVersion"], seen, before, after, writer)
        if found is None:
            same = False
            continue
        fields: FieldSet = entry.get("fieldsV1") or {}
        rest = difference(difference(fields, found.changed), found.removed)
        if rest is fields:
            kept.append(entry)
            continue
        same = False
        if rest:
            kept.append({**entry, "fieldsV1": rest})
    return entries if same else kept


def strip(fields: FieldSet) -> FieldSet:
    """The set without fields that identify an object or belong to the server: those have no owner."""
    metadata = fields.get("f:metadata")
    if metadata is None:
        return fields if _STRIPPED_TOP.isdisjoint(fields) else _without(fields, _STRIPPED_TOP)
    out = _without(fields, _STRIPPED_TOP)
    rest = _without(metadata, _STRIPPED_METADATA)
    if rest:
        out["f:metadata"] = rest
    else:
        del out["f:metadata"]
    return out


def _without(fields: FieldSet, elements: frozenset[str]) -> FieldSet:
    return {element: below for element, below in fields.items() if element not in elements}


def _filed(entries: list[Entry], mine: FieldSet, writer: Writer) -> list[Entry]:
    """Merge the writer's fields into its existing entry, with a new time."""
    entry = entry_for(writer, "Update", mine, writer.now)
    me = owner_of(entry)
    kept = []
    for other in entries:
        if owner_of(other) == me:
            entry["fieldsV1"] = union(mine, other.get("fieldsV1") or {})
        else:
            kept.append(other)
    kept.append(entry)
    return kept


def _capped(entries: list[Entry]) -> list[Entry]:
    """At most ten updaters: the oldest of each version are merged into one entry named ancient-changes."""
    updaters = [entry for entry in entries if entry["operation"] == "Update"]
    excess = len(updaters) - MAX_UPDATE_MANAGERS
    if excess <= 0:
        return entries
    updaters.sort(key=lambda entry: (entry.get("time") or "", owner_of(entry)))
    kept = {owner_of(entry): entry for entry in entries}
    first: dict[str, Owner] = {}
    for entry in updaters:
        if excess == 0:
            break
        version, owner = entry["apiVersion"], owner_of(entry)
        if version not in first:
            first[version] = owner
            continue
        bucket = ("ancient-changes", "Update", version, "")
        so_far = kept[bucket] if bucket in kept and owner != bucket else kept.pop(first[version])
        del kept[owner]
        head = {"manager": bucket[0], "operation": "Update", "apiVersion": version}
        fields = union(entry["fieldsV1"], so_far["fieldsV1"])
        kept[bucket] = _finished(head, fields, entry.get("time"), "")
        excess -= 1
    return list(kept.values())


def ordered(entries: Iterable[Entry]) -> list[Entry]:
    return sorted(entries, key=_order)


def _order(entry: Entry) -> tuple[str, str, str, str, str]:
    return (
        entry["operation"],
        entry.get("time") or "",
        entry.get("manager", ""),
        entry["apiVersion"],
        entry.get("subresource", ""),
    )


def settle(old: Obj, new: Obj) -> bool:
    """Whether `new` equals `old`; restores the old timestamps in `new` when only those differ."""
    was = old.get("metadata", {}).get("managedFields")
    now = new.get("metadata", {}).get("managedFields")
    if was == now:
        return _same(old, new)
    if not was or not now or len(was) != len(now) or [*map(_timeless, was)] != [*map(_timeless, now)]:
        return False
    if not _same(unmanaged(old), unmanaged(new)):
        return False
    new["metadata"]["managedFields"] = was
    return True


def _same(left: Obj, right: Obj) -> bool:
    """Equality as in JSON: in Python 1 equals true, and a write of one over the other must not be ignored."""
    return left == right and msgspec.json.encode(left, order="sorted") == msgspec.json.encode(right, order="sorted")


def _timeless(entry: Entry) -> Entry:
    return {name: value for name, value in entry.items() if name != "time"}
