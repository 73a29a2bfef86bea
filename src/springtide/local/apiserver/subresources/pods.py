# SPDX-License-Identifier: Apache-2.0
"""Binding and eviction: the subresources by which the scheduler and `kubectl drain` act on a pod."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from springtide.api import field_errors as field
from springtide.local import status
from springtide.local.apiserver.context import Call, Context, StoreReader
from springtide.local.apiserver.encoding import bodies
from springtide.local.apiserver.encoding.objects import decode as decode_json
from springtide.local.apiserver.encoding.objects import load
from springtide.local.apiserver.replies import Answer, reply
from springtide.local.apiserver.verbs.delete import delete_object
from springtide.local.apiserver.verbs.options import WriteOptions, delete_options, write_options
from springtide.local.apiserver.worker_thread import beside, is_heavy
from springtide.local.apiserver.writing import writes
from springtide.local.kinds.strategy import Obj
from springtide.local.kinds.written_selectors import WrittenSelector
from springtide.local.schema import builtin
from springtide.local.schema.decode import DecodeError, decode
from springtide.local.store.backend import Record

_CREATED = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
_GROUPS = {"Binding": "", "Eviction": "policy"}
_INTERNAL = WriteOptions(False, "Ignore", "kube-scheduler")


async def bind(ctx: Context, call: Call) -> Answer:
    """POST pods/NAME/binding or bindings: the scheduler's decision."""
    binding = _read(call, "Binding")
    name = call.target.name or binding.get("metadata", {}).get("name", "")
    if binding.get("metadata", {}).get("name", "") != name:
        raise status.bad_request("name in URL does not match name in Binding object")
    node = _checked_target(binding)
    registry_call = Call(call.request, call.target.named(call.target.namespace, name), _pods(ctx), call.form)
    registry_call.target.subresource = "binding"

    def change(pod: Obj) -> Obj:
        wanted, found = binding["metadata"].get("uid"), pod["metadata"]["uid"]
        if wanted and wanted != found:
            raise status.conflict("", "pods", name, writes.wrong_uid(registry_call, wanted, found))
        if pod["spec"].get("schedulingGates"):
            why = f"pod {name} has non-empty .spec.schedulingGates"
            raise status.conflict("", "pods/binding", name, why)
        if pod["metadata"].get("deletionTimestamp"):
            raise status.conflict(
                "", "pods/binding", name, f"pod {name} is being deleted, cannot be assigned to a host"
            )
        if pod["spec"].get("nodeName"):
            raise status.conflict(
                "", "pods/binding", name, f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"'
            )
        return _bound(pod, binding, node, ctx.now())

    options = replace(write_options(call.request, "CreateOptions"), applied=True)  # a binding owns no fields
    await writes.replace(ctx, registry_call, change, options, raw=True)
    return reply(_CREATED, call.form, 201)


def _checked_target(binding: Obj) -> str:
    target = binding.get("target") or {}
    errors = []
    if target.get("kind", "") not in ("", "Node"):
        errors.append(field.not_supported("target.kind", target["kind"], ["Node", "<empty>"]))
    if not target.get("name"):
        errors.append(field.required("target.name"))
    if errors:
        raise status.bad_request(str(errors[0]))
    return str(target["name"])


def _bound(pod: Obj, binding: Obj, node: str, now: str) -> Obj:
    pod["spec"]["nodeName"] = node
    if added := binding.get("metadata", {}).get("annotations"):
        pod["metadata"].setdefault("annotations", {}).update(added)
    conditions = pod.setdefault("status", {}).setdefault("conditions", [])
    conditions[:] = [condition for condition in conditions if condition["type"] != "PodScheduled"]
    conditions.append({"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now})
    return pod


def _pods(ctx: Context) -> Any:
    return ctx.registry.find("", "v1", "pods")


def _read(call: Call, kind: str) -> Obj:
    value, _ = bodies.read_plain(call.request, kind)
    if not isinstance(value, dict) or value.get("kind", kind) != kind:
        raise status.bad_request(f"the body must be a {kind}")
    group = _GROUPS[kind]
    try:
        return decode(value, builtin.kind_node(group, "v1", kind))[0]
    except DecodeError as error:
        raise status.bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {error}') from None


async def evict(ctx: Context, call: Call) -> Answer:
    """POST pods/NAME/eviction: a deletion that disruption budgets may reject."""
    eviction = _read(call, "Eviction")
    if eviction.get("metadata", {}).get("name", call.target.name) != call.target.name:
        raise status.bad_request("name in URL does not match name in Eviction object")
    options = delete_options(call.request.query, _delete_options(call, eviction))
    record = ctx.store.get(call.key())
    if record is None:
        raise status.not_found("", "pods", call.target.name)
    pod = load(record, call.resource)
    if not options.dry_run and _counts(pod):
        await _spend_budget(ctx, call, pod)
    if not options.dry_run and _counts(pod):
        await _mark_disrupted(ctx, call)
    target = call.target.named(call.target.namespace, call.target.name)
    target.subresource = ""
    await delete_object(ctx, Call(call.request, target, call.resource), options)
    return reply(_CREATED, call.form, 201)


def _delete_options(call: Call, eviction: Obj) -> Obj:
    """The body's options; a dry run requested in the URL applies as well."""
    asked, options = call.request.query.all("dryRun"), eviction.get("deleteOptions") or {}
    if asked and options.get("dryRun") and options["dryRun"] != asked:
        raise status.bad_request(
            f"Non-matching dry-run options in request and content: {asked} and {options['dryRun']}"
        )
    return {**options, "dryRun": asked} if asked and options else options


async def _mark_disrupted(ctx: Context, call: Call) -> None:
    """Add the condition DisruptionTarget, which distinguishes an eviction from a failure."""
    target = call.target.named(call.target.namespace, call.target.name)
    target.subresource = "status"

    def change(pod: Obj) -> Obj:
        conditions = pod.setdefault("status", {}).setdefault("conditions", [])
        conditions[:] = [condition for condition in conditions if condition["type"] != "DisruptionTarget"]
        conditions.append(
            {
                "type": "DisruptionTarget",
                "status": "True",
                "lastProbeTime": None,
                "lastTransitionTime": ctx.now(),
                "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting",
            }
        )
        return pod

    await writes.replace(ctx, Call(call.request, target, call.resource), change, _INTERNAL, raw=True)


def _counts(pod: Obj) -> bool:
    """Whether disruption budgets apply: not to pods that have ended, are not yet running or are being deleted."""
    ended = pod.get("status", {}).get("phase") in ("Succeeded", "Failed", "Pending")
    return not ended and not pod["metadata"].get("deletionTimestamp")


async def _spend_budget(ctx: Context, call: Call, pod: Obj) -> None:
    labels = pod["metadata"].get("labels") or {}
    namespace = call.target.namespace
    records = list(StoreReader(ctx.store).records("poddisruptionbudgets.policy", namespace))
    heavy = is_heavy(b",".join(record.body for record in records))
    budgets = await beside(heavy, lambda: [decode_json(record.body) for record in records if _covers(record, labels)])
    if len(budgets) > 1:
        raise status.internal(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
    if not budgets or (not _ready(pod) and _unhealthy_may_go(budgets[0])):
        return
    name = budgets[0]["metadata"]["name"]
    resource = ctx.registry.find("policy", "v1", "poddisruptionbudgets")
    assert resource is not None
    target = call.target.named(namespace, name)
    target.subresource = "status"
    change = _spender(pod["metadata"]["name"], ctx.now())
    await writes.replace(ctx, Call(call.request, target, resource), change, _INTERNAL, raw=True)


class _BudgetSpec(msgspec.Struct):
    selector: WrittenSelector | None = None


class _Budget(msgspec.Struct):
    spec: _BudgetSpec = msgspec.field(default_factory=_BudgetSpec)


_budget = msgspec.json.Decoder(_Budget)


def _covers(record: Record, labels: Mapping[str, str]) -> bool:
    selector = _budget.decode(record.body).spec.selector
    return selector is not None and selector.matches(labels)


def _spender(pod_name: str, now: str) -> writes.Change:
    def change(budget: Obj) -> Obj:
        name, state = budget["metadata"]["name"], budget.setdefault("status", {})
        if state.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
            raise _refused(f"The disruption budget {name} is still being processed by the server.", 10)
        allowed = state.get("disruptionsAllowed", 0)
        if allowed <= 0:
            raise _refused(
                f"The disruption budget {name} needs {state.get('desiredHealthy', 0)} healthy pods and has "
                f"{state.get('currentHealthy', 0)} currently",
                0,
            )
        state["disruptionsAllowed"] = allowed - 1
        state.setdefault("disruptedPods", {})[pod_name] = now
        return budget

    return change


def _refused(message: str, retry_after: int) -> status.StatusError:
    return status.StatusError(
        429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.",
        {"causes": [{"reason": "DisruptionBudget", "message": message}]}, retry_after=retry_after or None,
    )  # fmt: skip


def _ready(pod: Obj) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _unhealthy_may_go(budget: Obj) -> bool:
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    state = budget.get("status", {})
    healthy, desired = state.get("currentHealthy", 0), state.get("desiredHealthy", 0)
    return bool(healthy >= desired > 0)
