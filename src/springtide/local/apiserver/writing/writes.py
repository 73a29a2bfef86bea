# SPDX-License-Identifier: Apache-2.0
"""The write path to the store that create, update, patch and apply share.

`create` and `replace` handle defaults, admission, validation, managedFields and optimistic locking. A write that
changes nothing is answered without writing. Every loop is bounded: a writer that loses too many races gets a Conflict,
as in kube-apiserver.

Functions that work on the object access nothing else. The event loop calls them directly for a small object; for a
large one (`heavy`) the same functions run on a thread, so that other requests do not wait.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar, TypeVarTuple

from springtide.api import field_errors as field
from springtide.api.field_errors import FieldError
from springtide.event_loop.long_work import in_thread
from springtide.local import status
from springtide.local.access.attributes import require
from springtide.local.apiserver.context import Call, Context
from springtide.local.apiserver.encoding.objects import decode, dump, encode, load
from springtide.local.apiserver.registry import scales
from springtide.local.apiserver.registry.resources import Resource
from springtide.local.apiserver.requests import attributes
from springtide.local.apiserver.verbs.options import WriteOptions
from springtide.local.apiserver.worker_thread import LIGHT_BYTES
from springtide.local.apiserver.writing.admission_requests import admission_request
from springtide.local.kinds import metadata as metadata_rules
from springtide.local.kinds.strategy import Obj
from springtide.local.patches import field_sets, managed_fields
from springtide.local.schema.defaults import Room, TooManyDefaults
from springtide.local.status import StatusError
from springtide.local.store.backend import FullError, Key, Record, StaleError

ATTEMPTS = 100  # lost races with other writers; each means that another write succeeded
NAME_ATTEMPTS = 8
Arguments = TypeVarTuple("Arguments")
Outcomes = TypeVar("Outcomes")
BODY_LIMIT = 3 * 1024 * 1024 // 2
"""etcd's request limit; kube-apiserver rejects a larger built-in object with 413 too."""


@dataclass(frozen=True, slots=True)
class Outcome:
    record: Record
    created: bool = False
    deleted: bool = False


def storage_full(error: FullError) -> StatusError:
    return status.storage_full(
        f"the cluster's disk is full, nothing was changed: {error}. Free some space and try again"
    )


# -- create -----------------------------------------------------------------------------------------------------------


async def create(ctx: Context, call: Call, obj: Obj, options: WriteOptions, heavy: bool) -> Outcome:
    resource = call.resource
    meta = obj["metadata"]
    _check_namespace(call, meta)
    warnings, heavy = await _settled(heavy, _settle, resource, obj)
    call.request.warnings.extend(warnings)
    generated = not meta.get("name") and bool(meta.get("generateName"))
    for attempt in range(NAME_ATTEMPTS if generated else 1):
        candidate = _copied(obj) if generated else obj
        _fill_metadata(ctx, resource, candidate)
        try:
            return await _create_named(ctx, call, candidate, options, heavy)
        except StatusError as error:
            if error.reason != "AlreadyExists" or not generated or attempt == NAME_ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


async def _settled(
    heavy: bool, settle: Callable[[*Arguments, Room], Outcomes], *arguments: *Arguments
) -> tuple[Outcomes, bool]:
    """The result of `settle`, and whether the object is heavy now: defaults can make a small object large."""
    try:
        if not heavy:
            with suppress(TooManyDefaults):
                return settle(*arguments, Room(LIGHT_BYTES // 2)), False
        return await in_thread(settle, *arguments, Room()), True
    except TooManyDefaults as error:
        raise status.too_large_by_defaults(str(error)) from None


def _settle(resource: Resource, obj: Obj, room: Room) -> list[str]:
    """Fill in defaults and drop repeated owners; returns warnings."""
    resource.codec.default(obj, room)
    return _settle_rest(resource, obj)


def _settle_rest(resource: Resource, obj: Obj) -> list[str]:
    resource.strategy.default(obj)
    return metadata_rules.drop_duplicate_owners(obj)


def _copied(obj: Obj) -> Obj:
    return {**obj, "metadata": dict(obj["metadata"])}


async def _create_named(ctx: Context, call: Call, obj: Obj, options: WriteOptions, heavy: bool) -> Outcome:
    resource, meta = call.resource, obj["metadata"]
    if heavy:
        await in_thread(_track, ctx, call, None, obj, options)
    else:
        _track(ctx, call, None, obj, options)
    admission = admission_request(call, "CREATE", obj, None, options)
    await ctx.admission.mutate(admission)
    _prepare_create(resource, obj)
    key = call.key(meta.get("name", ""))
    _complete(ctx, call, obj, None)
    long = heavy or resource.strategy.validates_long(obj)
    errors = await in_thread(_validate, resource, obj) if long else _validate(resource, obj)
    if (validate := resource.codec.validate) is not None:
        errors += await validate(obj, None, heavy)
    if errors:
        raise status.invalid(resource.error_group, resource.kind, meta.get("name", ""), errors)
    await ctx.admission.validate(admission)
    call.request.warnings.extend(admission.warnings)
    call.request.warnings.extend(
        await in_thread(_warnings, resource, obj, None) if heavy else _warnings(resource, obj, None)
    )
    if ctx.store.get(key) is not None:
        raise status.already_exists(resource.group, resource.plural, key.name)
    await _bound(call, obj, b"", heavy)
    _check_served(ctx, resource)
    if options.dry_run:
        return Outcome(Record(key, 0, _without_version(dump(obj, resource, 0))), created=True)
    try:
        record = await ctx.store.write(key, None, encoder(resource, obj))
    except StaleError:
        raise status.already_exists(resource.group, resource.plural, key.name) from None
    except FullError as error:
        raise storage_full(error) from None
    return Outcome(record, created=True)


def _prepare_create(resource: Resource, obj: Obj) -> None:
    resource.strategy.prepare_create(obj)
    if resource.custom and "status" in resource.subresources:
        obj.pop("status", None)
    if resource.strategy.has_generation:
        obj["metadata"]["generation"] = 1


def _validate(resource: Resource, obj: Obj) -> list[FieldError]:
    return field.collected(_create_errors, resource, obj)


def _create_errors(resource: Resource, obj: Obj) -> list[FieldError]:
    errors = metadata_rules.validate_metadata(
        obj, resource.namespaced, resource.name_rule or _any_name, known_finalizers=not resource.custom
    )
    return errors + resource.strategy.validate(obj)


def _warnings(resource: Resource, new: Obj, old: Obj | None) -> list[str]:
    return resource.strategy.warnings(new) + _bare(resource, new, old)


def _check_served(ctx: Context, resource: Resource) -> None:
    """Checked last, because admission takes time: an object created after its definition's deletion would remain."""
    if not resource.custom:
        return
    current = ctx.registry.find(resource.group, resource.version, resource.plural)
    if current is None:
        raise status.path_not_found()
    if current.terminating:
        details = {"group": resource.group, "kind": resource.plural}
        why = "create not allowed while custom resource definition is terminating"
        raise StatusError(405, "MethodNotAllowed", why, details)


def _without_version(body: bytes) -> bytes:
    return body.replace(b',"resourceVersion":"0"', b"", 1).replace(b'"resourceVersion":"0",', b"", 1)


def _any_name(name: str) -> list[str]:
    return []


def _check_namespace(call: Call, meta: Obj) -> None:
    if not call.resource.namespaced:
        if meta.get("namespace"):
            meta.pop("namespace")
        return
    given = meta.get("namespace")
    if given and given != call.target.namespace:
        raise status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    meta["namespace"] = call.target.namespace


def _fill_metadata(ctx: Context, resource: Resource, obj: Obj) -> None:
    meta = obj["metadata"]
    if meta.get("resourceVersion"):
        raise status.bad_request("resourceVersion should not be set on objects to be created")
    for dropped in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        meta.pop(dropped, None)
    meta["uid"] = ctx.new_uid()
    meta["creationTimestamp"] = ctx.now()
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = metadata_rules.generated_name(meta["generateName"], ctx.new_suffix())


# -- replace ----------------------------------------------------------------------------------------------------------

Change = Callable[[Obj], Obj]
"""From a private copy of the stored object to its replacement."""


async def replace(
    ctx: Context, call: Call, change: Change, options: WriteOptions, *, missing: Obj | None = None, raw: bool = False
) -> Outcome:
    """`missing` is created when the object does not exist (apply, and PUT of the kinds that allow it).

    `raw` is for changes made by the server (a binding): they change fields that a client's update cannot.
    """
    resource, key = call.resource, call.key()
    for _ in range(ATTEMPTS):
        record = ctx.store.get(key)
        if record is None:
            if missing is None:
                raise status.not_found(resource.group, resource.plural, key.name)
            # A permission to update does not include creation by updating a missing object.
            require(ctx.authorizer, call.request.user, attributes(call.target)._replace(verb="create"))
            return await create(ctx, call, missing, options, call.is_heavy())
        heavy = call.is_heavy(record.body)
        loaded = await in_thread(_changed, record, resource, change) if heavy else _changed(record, resource, change)
        old, new = loaded
        _check_version(new, old, resource, key)
        if not raw:
            heavy = await _prepare_update(ctx, call, new, old, options, heavy)
        elif heavy:
            await in_thread(_track, ctx, call, old, new, options)
        else:
            _track(ctx, call, old, new, options)
        if await in_thread(_unchanged, new, old) if heavy else _unchanged(new, old):
            return Outcome(record)
        await _bound(call, new, record.body, heavy)
        outcome = await _store_update(ctx, resource, record, new, options)
        if outcome is not None:
            return outcome
    raise status.conflict(resource.group, resource.plural, key.name, status.STALE)


def _changed(record: Record, resource: Resource, change: Change) -> tuple[Obj, Obj]:
    return load(record, resource), change(load(record, resource))


def _check_version(new: Obj, old: Obj, resource: Resource, key: Key) -> None:
    """A resourceVersion in the new object must be the stored one."""
    named = new["metadata"].get("resourceVersion")
    if named and not named.isdecimal():
        raise status.bad_request(f'strconv.ParseUint: parsing "{field.cut(named)}": invalid syntax')
    if named and named != "0" and named != old["metadata"]["resourceVersion"]:
        raise status.conflict(resource.group, resource.plural, key.name, status.STALE)


async def _store_update(
    ctx: Context, resource: Resource, record: Record, new: Obj, options: WriteOptions
) -> Outcome | None:
    """None when another write was faster."""
    gone = is_released(resource, new)
    if options.dry_run:
        return Outcome(Record(record.key, record.revision, dump(new, resource, record.revision)), deleted=gone)
    try:
        if gone:  # watchers receive the last stored state, the writer the result of his change
            await ctx.store.delete(record.key, record, encoder(resource, load(record, resource)))
            return Outcome(Record(record.key, record.revision, dump(new, resource, record.revision)), deleted=True)
        return Outcome(await ctx.store.write(record.key, record, encoder(resource, new)))
    except StaleError:
        return None
    except FullError as error:
        raise storage_full(error) from None


def is_released(resource: Resource, obj: Obj) -> bool:
    """Marked for deletion and no longer held."""
    meta = obj["metadata"]
    return (
        bool(meta.get("deletionTimestamp"))
        and not meta.get("finalizers")
        and not meta.get("deletionGracePeriodSeconds")
        and not (resource.held is not None and resource.held(obj))
    )


def _unchanged(new: Obj, old: Obj) -> bool:
    new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    return new == old


async def _prepare_update(ctx: Context, call: Call, new: Obj, old: Obj, options: WriteOptions, heavy: bool) -> bool:
    """Returns whether the object is heavy now."""
    resource, meta = call.resource, new["metadata"]
    _check_identity(call, meta, old["metadata"])
    if not meta.get("resourceVersion") and not resource.unconditional_update and call.request.method == "PUT":
        error = field.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise status.invalid(resource.group, resource.plural, call.target.name, [error])
    meta["resourceVersion"] = old["metadata"]["resourceVersion"]
    warnings, heavy = await _settled(heavy, _settle_update, ctx, call, new, old, options)
    call.request.warnings.extend(warnings)
    admission = admission_request(call, "UPDATE", new, old, options)
    await ctx.admission.mutate(admission)
    _carry_over(call, new, old)
    long = heavy or resource.strategy.validates_long(new)
    errors = await in_thread(_validate_update, call, new, old) if long else _validate_update(call, new, old)
    if (validate := resource.codec.validate) is not None:
        errors += await validate(new, old, heavy)
    _complete(ctx, call, new, old)
    if errors:
        raise status.invalid(resource.error_group, resource.kind, meta.get("name", ""), errors)
    await ctx.admission.validate(admission)
    call.request.warnings.extend(admission.warnings)
    if heavy:
        await in_thread(_finish_update, call, new, old)
    else:
        _finish_update(call, new, old)
    return heavy


def _settle_update(ctx: Context, call: Call, new: Obj, old: Obj, options: WriteOptions, room: Room) -> list[str]:
    if call.resource.custom and _is_ending(call, old):
        _default_if_possible(call.resource, new, room)
    else:
        call.resource.codec.default(new, room)
    warnings = _settle_rest(call.resource, new)
    metadata_rules.keep_system_fields(new, old)
    new["metadata"].pop("selfLink", None)
    _track(ctx, call, old, new, options)
    return warnings


def _is_ending(call: Call, old: Obj) -> bool:
    """Whether the write reports status, or concerns an object that is being deleted.

    Defaults that do not fit are then left out: a new default must not keep existing objects from ending.
    """
    return call.target.subresource == "status" or "deletionTimestamp" in old["metadata"]


def _default_if_possible(resource: Resource, obj: Obj, room: Room) -> None:
    as_it_was = encode(obj)
    try:
        resource.codec.default(obj, room)
    except TooManyDefaults:
        obj.clear()
        obj.update(decode(as_it_was))
        if not room.is_whole:
            raise


def _finish_update(call: Call, new: Obj, old: Obj) -> None:
    if not call.target.subresource:
        call.request.warnings.extend(_warnings(call.resource, new, old))
    managed_fields.settle(old, new)


def check_name(call: Call, meta: Obj) -> None:
    """The name in the body must match that in the path; a PUT must contain one, and a patch must not remove it."""
    given, name = meta.get("name"), call.target.name
    if call.request.method in ("PUT", "PATCH") and not given:
        raise status.bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )
    if given is not None and given != name:
        raise status.bad_request(
            f"the name of the object ({field.cut(given)}) does not match the name on the URL ({name})"
        )
    meta["name"] = name


def _bare(resource: Resource, new: Obj, old: Obj | None) -> list[str]:
    """Warnings for new finalizers without a domain; only custom resources may have such finalizers."""
    if not resource.custom:
        return []
    known = set((old or {"metadata": {}})["metadata"].get("finalizers") or ()) | metadata_rules.STANDARD_FINALIZERS
    return [
        f'metadata.finalizers: "{each}": prefer a domain-qualified finalizer name to avoid accidental conflicts with '
        "other finalizer writers"
        for each in new["metadata"].get("finalizers") or ()
        if "/" not in each and each not in known
    ]


def _check_identity(call: Call, meta: Obj, before: Obj) -> None:
    resource, name = call.resource, call.target.name
    put = call.request.method == "PUT"
    check_name(call, meta)
    _check_namespace(call, meta)
    if put and meta.get("uid") and meta["uid"] != before["uid"]:
        raise status.conflict(resource.group, resource.plural, name, wrong_uid(call, meta["uid"], before["uid"]))


def wrong_uid(call: Call, wanted: str, found: str) -> str:
    resource, target = call.resource, call.target
    place = "/".join(
        part
        for part in (resource.group if resource.custom else "", resource.plural, target.namespace, target.name)
        if part
    )
    return (
        f"StorageError: invalid object, Code: 4, Key: /registry/{place}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    )


def _carry_over(call: Call, new: Obj, old: Obj) -> None:
    """Restore the parts that this endpoint must not change, and increment the generation."""
    resource, strategy = call.resource, call.resource.strategy
    if call.target.subresource == "status":
        _keep_all_but_status(resource, new, old)
        strategy.prepare_status(new, old)
        return
    if strategy.has_status or (resource.custom and "status" in resource.subresources):
        _keep(new, old, "status")
    strategy.prepare_update(new, old)
    if strategy.has_generation and _spec_changed(new, old):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _validate_update(call: Call, new: Obj, old: Obj) -> list[FieldError]:
    return field.collected(_update_errors, call, new, old)


def _update_errors(call: Call, new: Obj, old: Obj) -> list[FieldError]:
    strategy = call.resource.strategy
    errors = 2 * metadata_rules.validate_metadata_update(new, old)  # listed twice, as by kube-apiserver
    if call.target.subresource == "status":
        return errors + strategy.validate_status(new, old)
    return errors + strategy.validate(new) + strategy.validate_update(new, old)


def _keep(new: Obj, old: Obj, part: str) -> None:
    if part in old:
        new[part] = old[part]
    else:
        new.pop(part, None)


def _keep_all_but_status(resource: Resource, new: Obj, old: Obj) -> None:
    for part in {*new, *old} - {"status", "metadata", "kind", "apiVersion"}:
        _keep(new, old, part)
    if resource.custom:
        tracked = new["metadata"].get("managedFields")
        new["metadata"] = dict(old["metadata"])
        if tracked is not None:
            new["metadata"]["managedFields"] = tracked


def _spec_changed(new: Obj, old: Obj) -> bool:
    ignored = {"metadata", "status", "kind", "apiVersion"}
    return any(new.get(part) != old.get(part) for part in {*new, *old} - ignored)


# -- shared -----------------------------------------------------------------------------------------------------------


def _complete(ctx: Context, call: Call, new: Obj, old: Obj | None) -> None:
    storage = call.resource.storage
    for complete in ctx.before_write.get(storage, ()):
        complete(new, old)
    if guard := ctx.guards.get(storage):
        guard(call.request.user, new, old)


async def _bound(call: Call, obj: Obj, before: bytes, heavy: bool) -> None:
    """Reject objects above etcd's limit. Small ones exceed it only with the stored version's defaults."""
    resource, ending = call.resource, bool(before) and _is_ending(call, obj)
    if resource.check_stored is not None and not ending:
        _, heavy = await _settled(heavy, resource.check_stored, obj)
    if heavy:
        await in_thread(_check_size, resource, obj, before, ending)


def _check_size(resource: Resource, obj: Obj, before: bytes, ending: bool) -> None:
    """An object that defaults made too large may still grow while it ends."""
    size = len(encode(obj)) if ending else len(dump(obj, resource, 0))
    if size > (2 * BODY_LIMIT if ending and len(before) > BODY_LIMIT else BODY_LIMIT):
        raise status.too_large(BODY_LIMIT)


def encoder(resource: Resource, obj: Obj) -> Callable[[int], bytes]:
    def encode(revision: int) -> bytes:
        return dump(obj, resource, revision)

    return encode


_SPEC_DOOR = field_sets.excluding("status")
_STATUS_DOORS = {
    "": field_sets.excluding("spec"),
    "pods": field_sets.excluding("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
    "deployments.apps": field_sets.excluding("spec", "metadata.labels"),
}
_CUSTOM_STATUS_DOOR = field_sets.only("status")


def writer(ctx: Context, call: Call, manager: str) -> managed_fields.Writer:
    """The writer for managedFields: no manager owns fields that the endpoint does not let it change."""
    resource, subresource = call.resource, call.target.subresource
    reset = None
    if subresource == "status":
        builtin = _STATUS_DOORS.get(resource.storage) or _STATUS_DOORS[""]
        reset = _CUSTOM_STATUS_DOOR if resource.custom else builtin
    elif "status" in resource.subresources:
        reset = _SPEC_DOOR
    return managed_fields.Writer(manager, resource.api_version, ctx.now(), resource.kind, subresource, reset)


def _track(ctx: Context, call: Call, old: Obj | None, new: Obj, options: WriteOptions) -> None:
    if not options.applied:  # server-side apply has recorded its fields already
        managed_fields.track(old, new, call.resource.codec.node, writer(ctx, call, options.manager))
    if (
        call.target.subresource == scales.SUBRESOURCE
    ):  # entries of this subresource have no time in kube-apiserver either
        for entry in new["metadata"].get("managedFields") or ():
            if entry.get("subresource") == scales.SUBRESOURCE:
                entry.pop("time", None)
