# SPDX-License-Identifier: Apache-2.0
"""Keeps the registry and the status of CustomResourceDefinitions in sync with the stored definitions.

A definition is served as soon as its record is seen, milliseconds after it was written. When one is deleted, first its
objects are removed, then its finalizer; every step is repeated until it succeeds, so a crash in between is harmless.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from copy import deepcopy
from functools import partial
from typing import Any

from springtide.api import field_errors as field
from springtide.api.field_errors import FieldError
from springtide.event_loop.slices import in_slices
from springtide.local.access.identity import MASTERS, User
from springtide.local.apiserver.context import Call, Context
from springtide.local.apiserver.encoding.codecs import CustomCodec
from springtide.local.apiserver.encoding.objects import decode, dump, load
from springtide.local.apiserver.following import follow
from springtide.local.apiserver.registry.definition_names import DefinitionNames
from springtide.local.apiserver.registry.resources import Resource, ScalePaths, Subresource
from springtide.local.apiserver.requests import Query, Request, Target
from springtide.local.apiserver.subresources import scale
from springtide.local.apiserver.verbs.delete import delete_object
from springtide.local.apiserver.verbs.options import DeleteOptions
from springtide.local.kinds.groups.apiextensions import established
from springtide.local.kinds.names import dns_subdomain
from springtide.local.kinds.printer_columns import MOST_TEXT, compile_columns
from springtide.local.kinds.strategy import Obj, Strategy
from springtide.local.schema.compiled import CompiledSchema
from springtide.local.schema.defaults import Room, TooManyDefaults
from springtide.local.status import StatusError
from springtide.local.store.backend import FullError, Record, StaleError

log = logging.getLogger(__name__)

STORAGE = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_SELF = User("system:apiserver", groups=(MASTERS,))
_STATUS = Subresource("status", "", frozenset({"get", "patch", "update"}))
_RETRY = 0.2

Conversion = Callable[[Obj], Obj]


class CustomResources:
    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._names = DefinitionNames()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        try:
            await follow(self._ctx.store, STORAGE, self._put, self._remove)
        finally:
            for task in self._tasks:
                task.cancel()

    def _put(self, record: Record) -> None:
        crd: Obj = decode(record.body)
        others = self._names.of(self._ctx.store.list(STORAGE))
        status = established(crd, self._ctx.now(), others)
        if _is_true(status, "Established"):
            self._register(crd)
        if crd["metadata"].get("deletionTimestamp"):
            self._spawn(self._clean_up(record, crd))
        elif status != crd.get("status") or CLEANUP not in crd["metadata"].get("finalizers", ()):
            crd["status"] = status
            finalizers = crd["metadata"].setdefault("finalizers", [])
            if CLEANUP not in finalizers:
                finalizers.append(CLEANUP)
            self._spawn(self._save(record, crd))

    def _remove(self, record: Record) -> None:
        spec = decode(record.body)["spec"]
        self._ctx.registry.replace_custom(spec["group"], spec["names"]["plural"], ())

    def _register(self, crd: Obj) -> None:
        spec = crd["spec"]
        versions = [custom_resource(spec, version) for version in spec["versions"] if version.get("served")]
        for resource in versions:
            resource.terminating = bool(crd["metadata"].get("deletionTimestamp"))
        self._ctx.registry.replace_custom(spec["group"], spec["names"]["plural"], versions)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _save(self, record: Record, crd: Obj) -> None:
        """Write the definition's status. StaleError is ignored: the newer record is handled too."""
        definition = self._ctx.registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        assert definition is not None
        try:
            await self._ctx.store.write(record.key, record, partial(dump, crd, definition))
        except StaleError:
            return
        except FullError as error:
            log.warning("status of %s not saved: %s", record.key.name, error)

    async def _clean_up(self, record: Record, crd: Obj) -> None:
        spec = crd["spec"]
        if CLEANUP not in crd["metadata"].get("finalizers", ()):
            return
        while (current := self._ctx.store.get(record.key)) is not None and current.revision == record.revision:
            if not await self._delete_objects(spec) and await self._drop_finalizer(record, crd):
                return
            await asyncio.sleep(_RETRY)

    async def _delete_objects(self, spec: Obj) -> int:
        """Delete all objects; returns how many are left."""
        # In the stored version: they must be deleted even if no version is served any more.
        resource = custom_resource(spec, _stored_version(spec))
        async for record in in_slices(self._ctx.store.list(resource.storage)):
            if load(record, resource)["metadata"].get("deletionTimestamp"):
                continue
            target = Target("delete", resource.group, resource.version, resource.plural)
            request = Request("DELETE", "", Query(""), {}, _SELF)
            call = Call(request, target.named(record.key.namespace, record.key.name), resource)
            try:
                await delete_object(self._ctx, call, DeleteOptions())
            except StatusError as error:
                log.warning("cannot delete %s: %s", record.key, error.message)
        return len(self._ctx.store.list(resource.storage))

    async def _drop_finalizer(self, record: Record, crd: Obj) -> bool:
        """False on a full disk: the caller must retry."""
        definition = self._ctx.registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        assert definition is not None
        kept = [name for name in crd["metadata"]["finalizers"] if name != CLEANUP]
        released = {**crd, "metadata": {**crd["metadata"], "finalizers": kept}}
        change = self._ctx.store.write if kept else self._ctx.store.delete
        try:
            await change(record.key, record, partial(dump, released, definition))
        except StaleError:
            return True  # the newer record is handled too
        except FullError as error:
            log.warning("%s is not yet deleted: %s", record.key.name, error)
            return False
        return True


def _is_true(status: Obj, condition: str) -> bool:
    return any(c["type"] == condition and c["status"] == "True" for c in status.get("conditions", ()))


def custom_resource(spec: Obj, version: Obj) -> Resource:
    """The resource of one served version of a CRD."""
    names, group = spec["names"], spec["group"]
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    declared = version.get("subresources") or {}
    subresources = {}
    if "status" in declared:
        subresources["status"] = Subresource("status", names["kind"], _STATUS.verbs)
    paths = None
    if scaled := declared.get("scale"):
        subresources["scale"] = scale.SUBRESOURCE
        paths = ScalePaths(
            _path(scaled["specReplicasPath"]),
            _path(scaled["statusReplicasPath"]),
            _path(scaled.get("labelSelectorPath")),
        )
    columns, cells = compile_columns(version.get("additionalPrinterColumns"), MOST_TEXT // len(spec["versions"]))
    strategy = Strategy(
        has_status="status" in declared,
        has_generation=True,
        columns=columns,
        cells=cells,
        fields={_field_name(f): _reader(f) for f in version.get("selectableFields") or ()},
        validate=_scale_rule(paths) if paths is not None else Strategy().validate,
    )
    stored = _stored_version(spec)
    convert = _conversions(version, stored)
    return Resource(
        group,
        version["name"],
        names["plural"],
        names["kind"],
        names.get("singular") or names["kind"].lower(),
        spec["scope"] == "Namespaced",
        strategy,
        lambda: CustomCodec(version["name"], names["kind"], CompiledSchema(schema)),
        list_kind=names.get("listKind") or names["kind"] + "List",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=subresources,
        custom=True,
        storage_version=stored["name"],
        deprecation=_deprecation(spec, version),
        name_rule=dns_subdomain,
        to_storage=convert[0],
        from_storage=convert[1],
        check_stored=convert[2],
        scale_paths=paths,
        unconditional_update=False,
    )


def _stored_version(spec: Obj) -> Obj:
    found: Obj = next(each for each in spec["versions"] if each.get("storage"))
    return found


def _schema_of(version: Obj) -> Obj | None:
    schema: Obj | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return schema


def _conversions(
    version: Obj, stored: Obj
) -> tuple[Conversion, Conversion, Callable[[Obj, Room], None]] | tuple[None, None, None]:
    """Conversions to and from the stored version, in which each version keeps only the fields of its schema, and
    `Resource.check_stored`."""
    if version["name"] == stored["name"] or _schema_of(version) == _schema_of(stored):
        return None, None, None
    inner, outer = CompiledSchema(_schema_of(stored)), CompiledSchema(_schema_of(version))

    def pruned(obj: Obj) -> Obj:
        kept = deepcopy({key: value for key, value in obj.items() if key != "metadata"})
        inner.prune(kept)
        return kept

    def to_storage(obj: Obj) -> Obj:
        kept = pruned(obj)
        try:
            inner.default(kept)
        except TooManyDefaults:
            kept = pruned(obj)
        return {"metadata": obj["metadata"], **kept}

    def check_stored(obj: Obj, room: Room) -> None:
        inner.default(pruned(obj), room)

    def from_storage(obj: Obj) -> Obj:
        metadata = obj.pop("metadata")
        outer.prune(obj)
        return {"metadata": metadata, **obj}

    return to_storage, from_storage, check_stored


def _deprecation(spec: Obj, version: Obj) -> str:
    if not version.get("deprecated"):
        return ""
    default = f"{spec['group']}/{version['name']} {spec['names']['kind']} is deprecated"
    return str(version.get("deprecationWarning") or default)


def _scale_rule(paths: ScalePaths) -> Callable[[Obj], list[FieldError]]:
    def validate(obj: Obj) -> list[FieldError]:
        value: Any = obj
        for step in paths.spec:
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, int) and value < 0:
            return [field.invalid("." + ".".join(paths.spec), value, "should be a non-negative integer")]
        return []

    return validate


def _path(text: str | None) -> tuple[str, ...]:
    return tuple((text or "").lstrip(".").split(".")) if text else ()


def _field_name(selectable: Obj) -> str:
    name: str = selectable["jsonPath"].lstrip(".")
    return name


def _reader(selectable: Obj) -> Any:
    steps = _path(selectable["jsonPath"])

    def read(obj: Obj) -> str:
        value: Any = obj
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)

    return read
