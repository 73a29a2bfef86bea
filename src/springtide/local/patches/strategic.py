# SPDX-License-Identifier: Apache-2.0
"""Strategic merge patch: a merge patch with keyed lists and directives.

`$patch: delete|replace`, `$retainKeys`, `$deleteFromPrimitiveList/x` and `$setElementOrder/x`; merge keys and
strategies come from the schema of built-in types. Custom resources have none: the patch verb rejects them with 415
before. Used by `kubectl apply` and `kubectl edit`. Targets and patches are never changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

from springtide.local.patches.comparison import DEDUCED
from springtide.local.patches.conformity import go_text, go_type, json_kind
from springtide.local.patches.merge_patch import without_nulls
from springtide.local.schema.node import Node
from springtide.local.status import StatusError, bad_request

PATCH: Final = "$patch"
RETAIN: Final = "$retainKeys"
DELETE_FROM: Final = "$deleteFromPrimitiveList"
ORDER: Final = "$setElementOrder"

_UNKNOWN_FORMAT: Final = {
    DELETE_FROM: "invalid patch format of primitive list",
    RETAIN: "invalid patch format of retainKeys",
    ORDER: "invalid patch format of setElementOrder list",
}

Obj = dict[str, Any]


def apply(target: Obj, patch: Any, node: Node) -> Obj:
    """The patched object. Raises StatusError 400 for a malformed directive, 500 for lists that cannot be merged."""
    if patch is None:
        return target
    if not isinstance(patch, dict):
        raise bad_request(f"json: cannot unmarshal {json_kind(patch)} into Go value of type map[string]interface {{}}")
    return _merged(target, patch, node)


def _malformed(directive: str) -> NoReturn:
    raise bad_request(_UNKNOWN_FORMAT[directive])


def _failed(message: str) -> NoReturn:
    """An error that kube-apiserver does not expect: a bare 500 with only the message."""
    raise bad_request(message)


def _merged(target: Obj, patch: Obj, node: Node) -> Obj:
    if PATCH in patch:
        return _directed(patch)
    out, rest = _retained(target, patch)
    rest = _ordered(out, rest, node)
    for key, value in rest.items():
        name = _named_by(key, DELETE_FROM) if key.startswith(DELETE_FROM) else key
        if value is None:
            out.pop(name, None)
        elif name not in out or go_type(out[name]) != go_type(value):
            if key == name:
                _set(out, name, value)
        elif isinstance(value, dict):
            below = _field(node, name)
            replaces = "replace" in below.patch_strategy
            out[name] = value if replaces else _merged(out[name], value, below)
        elif isinstance(value, list):
            out[name] = _merged_field(out[name], value, _field(node, name), key != name)
        else:
            out[name] = value
    return out


def _directed(patch: Obj) -> Obj:
    directive = patch[PATCH]
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != PATCH}
    if directive == "delete":
        return {}
    _failed(f"unknown patch type: {go_text(directive)} in map: {go_text(patch)}")


def _set(out: Obj, name: str, value: Any) -> None:
    """Set a value that has no comparable old one, without the patch's nulls and directives."""
    plain = _without_directives(without_nulls(value))
    if plain is None:
        out.pop(name, None)
    else:
        out[name] = plain


def _without_directives(value: Any) -> Any:
    """The value without directives; None for an object that is itself a directive."""
    if isinstance(value, dict):
        if PATCH in value:
            return None
        parts = ((name, _without_directives(part)) for name, part in value.items())
        return {name: part for name, part in parts if part is not None}
    if isinstance(value, list):
        return [plain for item in value if (plain := _without_directives(item)) is not None or item is None]
    return value


def _field(node: Node, name: str) -> Node:
    found = node.fields.get(name)
    if found is not None:
        return found.node
    return node.item or DEDUCED


def _named_by(key: str, prefix: str) -> str:
    """The field name in a directive: `containers` in `$setElementOrder/containers`."""
    head, slash, name = key.partition("/")
    if head != prefix or not slash:
        _malformed(prefix)
    return name


def _retained(target: Obj, patch: Obj) -> tuple[Obj, Obj]:
    """Copies of both, the target's without the keys missing in `$retainKeys`."""
    if RETAIN not in patch:
        return dict(target), dict(patch)
    keys = patch[RETAIN]
    if not isinstance(keys, list):
        _malformed(RETAIN)
    rest = {name: value for name, value in patch.items() if name != RETAIN}
    retained = {name for name in keys if isinstance(name, str)}
    for name, value in rest.items():
        if value is not None and not name.startswith((DELETE_FROM, ORDER)) and name not in retained:
            _malformed(RETAIN)
    return {name: value for name, value in target.items() if name in retained}, rest


def _ordered(out: Obj, patch: Obj, node: Node) -> Obj:
    """Apply `$setElementOrder/x` and the lists it orders; returns the rest of the patch."""
    rest = dict(patch)
    for key in [key for key in patch if key.startswith(ORDER)]:
        order = patch[key]
        if not isinstance(order, list):
            _failed(f"expected a []interface {{}}, but received a {go_type(order)}")
        name = _named_by(key, ORDER)
        del rest[key]
        has, wants = _list_or_none(out, name), _list_or_none(rest, name)
        if has is None and wants is None:
            continue
        below = _field(node, name)
        _check_order(wants or [], order, below.patch_merge_key)
        if wants is None:
            merged = has or []
        elif has is None:
            merged = _without_directives(wants)
        else:
            merged = _merged_field(has, wants, below, False)
        _same_type(has or [], wants or [])
        stood = _server_order(has or [], wants or [], below.patch_merge_key)
        out[name] = _in_order(merged, order, stood, below.patch_merge_key)
        rest.pop(name, None)
    return rest


def _list_or_none(obj: Obj, name: str) -> list[Any] | None:
    if name not in obj:
        return None
    value = obj[name]
    if not isinstance(value, list):
        _failed(f"expected a []interface {{}}, but received a {go_type(value) if value is not None else '%!s(<nil>)'}")
    return value


def _check_order(wants: list[Any], order: list[Any], key: str) -> None:
    """The patch's items must be in the order that it sets, and all must be listed there."""
    if not wants or not order:
        return
    items = [item for item in wants if not (key and _directive(item) == "delete")]
    item = place = 0
    while item < len(items) and place < len(order):
        if _directive(items[item]) is not None:
            item += 1
            continue
        if _identity(items[item], key) == _identity(order[place], key):
            item += 1
        place += 1
    if item < len(items):
        _failed(f"The order in patch list:\n{go_text(wants)}\n doesn't match {ORDER} list:\n{go_text(order)}\n")


def _directive(item: Any) -> Any:
    return item.get(PATCH) if isinstance(item, dict) else None


def _identity(item: Any, key: str) -> Any:
    """Identity of a list item: its merge key, or the item itself."""
    if not key:
        return _token(item)
    if not isinstance(item, dict):
        _failed(f"expected a map[string]interface {{}}, but received a {go_type(item)}")
    if key not in item:
        _failed(f"map: {go_text(item)} does not contain declared merge key: {key}")
    return _token(item[key])


def _token(value: Any) -> Any:
    """The value, or a hashable substitute."""
    return go_text(value) if isinstance(value, dict | list) else value


def _server_order(has: list[Any], wants: list[Any], key: str) -> list[Any]:
    """The former order of the items, as kube-apiserver computes it.

    It merges in the target's own array, so an added item takes the position of a deleted one; the difference is visible
    when `kubectl apply` replaces a container by another.
    """
    if not key:
        return has
    order, length = _after_deletions(has, wants, key)
    added = [] if any(_directive(item) == "replace" for item in wants) else wants
    there = {_identity(item, key) for item in order[:length]} if added and length < len(order) else set()
    for item in added:
        if length == len(order):
            break
        if _directive(item) is None and (identity := _identity(item, key)) not in there:
            order[length] = item
            there.add(identity)
            length += 1
    return order


def _after_deletions(has: list[Any], wants: list[Any], key: str) -> tuple[list[Any], int]:
    """The target's array with the remaining items moved to its front, and their number.

    They are followed by the items that each deletion found at the array's end and moved forward.
    """
    places: dict[Any, list[int]] = {}
    for place, item in enumerate(has):
        places.setdefault(_identity(item, key), []).append(place)
    before = list(range(-1, len(has)))  # for each position, and for the end, the nearest remaining one before it
    after = list(range(1, len(has) + 2))
    stale: list[Any] = []  # in reverse order
    for item in wants:
        gone = places.pop(_identity(item, key), []) if _directive(item) == "delete" else []
        place = len(has)
        for _ in gone:
            place = before[place]
            stale.append(has[place])
        for place in gone:
            before[after[place]], after[before[place]] = before[place], after[place]
    dropped = {place for place in range(len(has)) if before[after[place]] != place}
    kept = [item for place, item in enumerate(has) if place not in dropped]
    return kept + stale[::-1], len(kept)


def _merged_field(has: list[Any], wants: list[Any], node: Node, deletes: bool) -> list[Any]:
    if deletes or "merge" in node.patch_strategy:
        return _merged_list(has, wants, node, deletes)
    return wants


def _merged_list(has: list[Any], wants: list[Any], node: Node, deletes: bool) -> list[Any]:
    if not has and not wants:
        return has
    if _same_type(has, wants) is not dict:
        if deletes:
            gone = set(wants)
            return [item for item in has if item not in gone]
        merged = list(dict.fromkeys([*has, *wants]))
        return _in_order(merged, wants, has, "")
    key = node.patch_merge_key
    if not key:
        _failed(f"cannot merge lists without merge key for {(node.item or DEDUCED).name.rpartition('.')[2]}")
    has, wants = _special_items(has, wants, key)
    return _in_order(_merged_items(has, wants, node, key), wants, has, key)


def _same_type(*lists: list[Any]) -> type:
    items = [item for items in lists for item in items]
    if not items:
        _failed("no elements in any of the given slices")
    first = type(items[0])
    if first is list:
        raise StatusError(422, "Invalid", "the server rejected our request due to an error in our request", {})
    if any(type(item) is not first for item in items):
        _failed(f"list element types are not identical: {go_text(list(lists))}")
    return first


def _special_items(has: list[Any], wants: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Apply the `$patch` items: returns the target's remaining items, and the patch's ordinary ones."""
    plain: list[Any] = []
    gone: set[Any] = set()
    replace = False
    for item in wants:
        directive = item.get(PATCH)
        if directive is None:
            plain.append(item)
        elif directive == "delete":
            gone.add(_identity(item, key))
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            _failed("merging lists cannot yet be specified in the patch")
        else:
            _failed(f"unknown patch type: {go_text(directive)} in map: {go_text(item)}")
    if replace:
        return plain, []
    return [item for item in has if _token(item.get(key)) not in gone] if gone else has, plain


def _merged_items(has: list[Any], wants: list[Any], node: Node, key: str) -> list[Any]:
    out = list(has)
    below = node.item or DEDUCED
    places = {_token(item.get(key)): place for place, item in reversed(list(enumerate(has)))}
    for item in wants:
        place = places.setdefault(_identity(item, key), len(out))
        if place == len(out):
            out.append(item)
        else:
            out[place] = _merged(out[place], item, below)
    return out


def _in_order(merged: list[Any], order: list[Any], has: list[Any], key: str) -> list[Any]:
    """Items named by `order` in that order, the server's others in theirs, merged by their former positions."""
    places = {_identity(item, key): place for place, item in reversed(list(enumerate(order)))}
    stood = {_identity(item, key): place for place, item in reversed(list(enumerate(has)))}
    theirs = sorted(
        (item for item in merged if _identity(item, key) in places), key=lambda i: places[_identity(i, key)]
    )
    ours = sorted(
        (item for item in merged if _identity(item, key) not in places),
        key=lambda item: stood.get(_identity(item, key), len(stood)),
    )
    return _zipped(ours, theirs, lambda item: stood.get(_identity(item, key)))


def _zipped(ours: list[Any], theirs: list[Any], stood: Callable[[Any], int | None]) -> list[Any]:
    """Merge both lists, each in its own order; ours is first where its former position is known to be before theirs."""
    out: list[Any] = []
    own = other = 0
    while own < len(ours) and other < len(theirs):
        left, right = stood(ours[own]), stood(theirs[other])
        if left is not None and right is not None and left < right:
            out.append(ours[own])
            own += 1
        else:
            out.append(theirs[other])
            other += 1
    return out + theirs[other:] + ours[own:]
