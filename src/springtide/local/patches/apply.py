# SPDX-License-Identifier: Apache-2.0
"""Server-side apply: merges a manager's configuration into an object and records field ownership.

The patch verb calls `apply` with the stored object (None when there is none yet) and gets the object to default, admit,
validate and store, including managedFields. A field that another manager set to another value is a conflict, unless
forced; a field that this manager applied before and now omits is removed, unless another manager owns it.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from springtide.local.patches.comparison import ElementError, compare, owned
from springtide.local.patches.conformity import complaints
from springtide.local.patches.field_sets import FieldSet, difference, intersection, paths, union
from springtide.local.patches.managed_fields import (
    Entry,
    Obj,
    Writer,
    difference_in,
    differences,
    entry_for,
    ordered,
    owner_of,
    release,
    strip,
    track,
    unmanaged,
)
from springtide.local.patches.merging import merge, named, take_out
from springtide.local.schema.node import Node
from springtide.local.status import StatusError, bad_request

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_MAX_ANNOTATIONS: Final = 256 * 1024

Conflicts = list[tuple[Entry, FieldSet]]


class _ConflictError(Exception):
    def __init__(self, conflicts: Conflicts) -> None:
        super().__init__()
        self.conflicts = conflicts


def apply(live: Obj | None, config: Obj, node: Node, writer: Writer, *, force: bool = False) -> Obj:
    """The object after apply. Raises StatusError: 409 with one cause per conflict, 400, or 500 for bad shapes.

    The result may contain nulls where the last part of a container was removed; decoding it again drops them.
    """
    _check(config, node, writer)
    entries = _entries_of(live, node, writer)
    try:
        merged = _applied(live, config, node, writer, entries, force)
    except _ConflictError as error:
        merged = _forgiven(error, live, config, node, writer, entries)
    if writer.manager == "kubectl":
        _renew_last_applied(merged, config)
    return merged


def _check(config: Obj, node: Node, writer: Writer) -> None:
    metadata = config.get("metadata")
    version, kind = config.get("apiVersion", ""), config.get("kind", "")
    if version != writer.api_version or (writer.kind and kind != writer.kind):
        raise bad_request(f"invalid object type: {_gvk(version, kind)}")
    metadata = metadata if isinstance(metadata, dict) else {}
    if metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    wrong = complaints(config, node)
    if wrong:
        who = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}; {_gvk(version, kind)}"
        text = wrong[0] if len(wrong) == 1 else "errors:\n  " + "\n  ".join(wrong)
        raise bad_request(f"failed to create typed patch object ({who}): {text}")


def _gvk(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    return f"{group}/{version}, Kind={kind}"


def _entries_of(live: Obj | None, node: Node, writer: Writer) -> list[Entry]:
    """The owners so far. Fields of an untracked object belong to before-first-apply, so that they can conflict."""
    if live is None:
        return []
    entries: list[Entry] | None = live["metadata"].get("managedFields")
    if entries:
        return entries
    first = Writer(
        "before-first-apply", writer.api_version, writer.now, subresource=writer.subresource, reset=writer.reset
    )
    tracked = {**live, "metadata": dict(live["metadata"])}
    track(None, tracked, node, first)
    return tracked["metadata"].get("managedFields") or []


def _applied(live: Obj | None, config: Obj, node: Node, writer: Writer, entries: list[Entry], force: bool) -> Obj:
    before = unmanaged(live) if live is not None else {}
    claim = owned(config, node) or {}
    if writer.reset is not None:
        claim = writer.reset(claim)
    mine = entry_for(writer, "Apply", claim, None)
    previous = next((entry for entry in entries if owner_of(entry) == owner_of(mine)), None)
    others = [entry for entry in entries if entry is not previous]
    after = merge(before, config, node)
    if previous is not None:
        mine["time"] = previous.get("time")
        after = _pruned(after, previous["fieldsV1"], claim, others, node)
    if after != before:
        mine["time"] = writer.now
        others = _taken(others, before, after, node, writer, force)
    return _with_owners(after, live, others, mine, claim)


def _with_owners(after: Obj, live: Obj | None, others: list[Entry], mine: Entry, claim: FieldSet) -> Obj:
    mine["fieldsV1"] = strip(claim)
    time = mine.pop("time", None)
    if mine["fieldsV1"]:
        head = {name: mine[name] for name in ("manager", "operation", "apiVersion")}
        rest = {name: value for name, value in mine.items() if name not in head}
        others = [*others, {**head, **({"time": time} if time else {}), **rest}]
    metadata = {**after.get("metadata", {})}
    metadata.pop("managedFields", None)
    if others:
        metadata["managedFields"] = ordered(others)
    return {**after, "metadata": metadata}


def _taken(others: list[Entry], before: Obj, after: Obj, node: Node, writer: Writer, force: bool) -> list[Entry]:
    """The other managers' entries after this change; without `force` only removed fields may be taken from them."""
    seen = differences(before, after, node, writer)
    if not force:
        conflicts: Conflicts = []
        for entry in others:
            found = difference_in(entry["apiVersion"], seen, before, after, writer)
            taken = intersection(entry["fieldsV1"], found.changed) if found is not None else {}
            if taken:
                conflicts.append((entry, taken))
        if conflicts:
            raise _ConflictError(conflicts)
    return release(others, seen, before, after, writer)


def _pruned(merged: Obj, last: FieldSet, claim: FieldSet, others: list[Entry], node: Node) -> Obj:
    """Remove fields that this manager applied last time but not now, unless another manager owns them."""
    if not difference(last, claim):
        return merged
    wanted = claim
    for entry in others:
        wanted = union(wanted, entry["fieldsV1"])
    all_named = named(owned(merged, node) or {}, node)
    last_named = named(last, node)
    bare = named(owned(take_out(merged, last_named, node) or {}, node) or {}, node)
    unowned = difference(all_named, union(bare, named(wanted, node)))
    kept = named(owned(take_out(merged, unowned, node) or {}, node) or {}, node)
    # Only fields that this manager owned may be removed, and unowned fields inside them.
    gone = intersection(difference(all_named, kept), last_named)
    result: Obj = take_out(merged, gone, node) or {}
    return result


def _forgiven(
    error: _ConflictError, live: Obj | None, config: Obj, node: Node, writer: Writer, entries: list[Entry]
) -> Obj:
    """Migration of kubectl from client-side apply: conflicts on fields that it applied itself are ignored."""
    conflicts = error.conflicts
    if writer.manager == "kubectl" and live is not None:
        allowed = _last_applied_fields(live, node, writer)
        if allowed is not None:
            conflicts = [(entry, rest) for entry, taken in conflicts if (rest := difference(taken, allowed))]
    if conflicts:
        raise _refusal(conflicts)
    return _applied(live, config, node, writer, entries, True)


def _last_applied_fields(live: Obj, node: Node, writer: Writer) -> FieldSet | None:
    """Fields of the client-side apply annotation whose value is unchanged since."""
    text = (live["metadata"].get("annotations") or {}).get(LAST_APPLIED)
    if not text:
        return None
    try:
        last = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return None
    if last.get("apiVersion") != writer.api_version or complaints(last, node):
        return None
    try:
        changed, removed = compare(last, live, node)
        return difference(difference(owned(last, node) or {}, changed), removed)
    except ElementError:
        return None


def _refusal(conflicts: Conflicts) -> StatusError:
    conflicts = sorted(conflicts, key=lambda conflict: owner_of(conflict[0]))
    named_paths = [(_shown_manager(entry), list(paths(taken))) for entry, taken in conflicts]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": path}
        for who, where in named_paths
        for path in where
    ]
    if len(causes) == 1:
        what = f"1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        lines = [line for who, where in named_paths for line in (f"conflicts with {who}:", *(f"- {p}" for p in where))]
        what = f"{len(causes)} conflicts: " + "\n".join(lines)
    return StatusError(409, "Conflict", f"Apply failed with {what}", {"causes": causes})


def _shown_manager(entry: Entry) -> str:
    text = msgspec.json.encode(entry.get("manager", "")).decode()
    if entry.get("subresource"):
        text += f' with subresource "{entry["subresource"]}"'
    return f"{text} using {entry['apiVersion']}" if entry["operation"] == "Update" else text


def _renew_last_applied(obj: Obj, config: Obj) -> None:
    """Update the client-side apply annotation, if present, so that client-side `kubectl apply` works again."""
    annotations = obj["metadata"].get("annotations") or {}
    if not annotations.get(LAST_APPLIED):
        return
    metadata = {**config.get("metadata", {})}
    others = {name: value for name, value in (metadata.get("annotations") or {}).items() if name != LAST_APPLIED}
    metadata.pop("annotations", None)
    if others:
        metadata["annotations"] = others
    text = msgspec.json.encode({**config, "metadata": metadata}, order="sorted").decode() + "\n"
    annotations = {**annotations, LAST_APPLIED: text}
    if sum(len(name.encode()) + len(value.encode()) for name, value in annotations.items()) > _MAX_ANNOTATIONS:
        del annotations[LAST_APPLIED]
    obj["metadata"]["annotations"] = annotations
