# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.unit.local.admission.builders import JANE, World, a_request

from springtide.local.admission.request import Guise
from springtide.local.admission.webhook_calls import CallError, Endpoint
from springtide.local.admission.webhooks import CONFIGURATIONS, ValidatingWebhooks
from springtide.local.status import StatusError

UID = "705ab4f5-6393-11e8-b7cc-42010a800002"
ANY_RULE = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
NAMESPACE = ("namespaces", {"metadata": {"name": "default", "labels": {"team": "a"}}})


def a_hook(name: str = "x.acc.dev", **fields: Any) -> dict[str, Any]:
    return {
        "name": name,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "timeoutSeconds": 3,
        "clientConfig": {"url": "https://127.0.0.1:18443/check", "caBundle": "Q0E="},
        "rules": [ANY_RULE],
        **fields,
    }


class Outside:
    """The world of webhooks: what they are asked, and what they answer."""

    def __init__(self, *hooks: dict[str, Any], versions: tuple[str, ...] = ("v1",)) -> None:
        configuration = {"metadata": {"name": "c", "uid": "u", "resourceVersion": "1"}, "webhooks": list(hooks)}
        self.world = World(NAMESPACE, (CONFIGURATIONS, configuration))
        self.asked: list[tuple[Endpoint, dict[str, Any], int]] = []
        self.response: dict[str, Any] = {"allowed": True}
        self.reply: Callable[[dict[str, Any]], bytes] = self.answer
        self.plugin = ValidatingWebhooks(self.world, self.call, lambda group, resource: versions, lambda: UID)

    def answer(self, review: dict[str, Any]) -> bytes:
        response = {"uid": review["request"]["uid"], **self.response}
        return msgspec.json.encode(
            {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response}
        )

    async def call(self, endpoint: Endpoint, body: bytes, seconds: int) -> bytes:
        review = msgspec.json.decode(body)
        self.asked.append((endpoint, review, seconds))
        return self.reply(review)

    async def refusal(self, **changes: Any) -> StatusError:
        with pytest.raises(StatusError) as refused:
            await self.plugin.admit(a_config_map_request(**changes))
        return refused.value


def a_config_map(**labels: str) -> dict[str, Any]:
    return {"metadata": {"name": "g", "namespace": "default", "labels": labels}, "data": {"a": "b"}}


def a_config_map_request(**changes: Any) -> Any:
    return a_request(**{"obj": a_config_map(), "resource": "configmaps", "kind": "ConfigMap", **changes})


async def test_a_webhook_is_asked_as_the_real_server_asks() -> None:
    outside = Outside(a_hook())
    options = {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}
    await outside.plugin.admit(a_config_map_request(options=options))
    ((endpoint, review, seconds),) = outside.asked
    assert (endpoint, seconds) == (Endpoint("https://127.0.0.1:18443/check", b"CA"), 3)
    assert review == {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": UID,
            "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
            "resource": {"group": "", "version": "v1", "resource": "configmaps"},
            "requestKind": {"group": "", "version": "v1", "kind": "ConfigMap"},
            "requestResource": {"group": "", "version": "v1", "resource": "configmaps"},
            "name": "g",
            "namespace": "default",
            "operation": "CREATE",
            "userInfo": JANE.as_user_info(),
            "object": {"kind": "ConfigMap", "apiVersion": "v1", **a_config_map()},
            "oldObject": None,
            "dryRun": False,
            "options": options,
        },
    }


async def test_a_service_is_reached_by_its_name() -> None:
    service = {"namespace": "ops", "name": "gate", "path": "/v", "port": 8443}
    outside = Outside(a_hook(clientConfig={"service": service}))
    await outside.plugin.admit(a_config_map_request())
    assert outside.asked[0][0] == Endpoint("https://gate.ops.svc:8443/v", None, ("ops", "gate", 8443))


@pytest.mark.parametrize(
    ("status", "code", "reason", "message"),
    [
        ({"message": "no no", "code": 403, "reason": "Forbidden"}, 403, "Forbidden", ": no no"),
        ({"message": "no no"}, 400, "", ": no no"),
        ({"reason": "BecauseISay"}, 400, "BecauseISay", ": BecauseISay"),
        (None, 400, "", " without explanation"),
        ({"code": 200, "message": "fine?"}, 400, "", ": fine?"),
    ],
    ids=["full", "message", "reason", "nothing", "success code"],
)
async def test_a_denial_carries_the_webhooks_words(
    status: dict[str, Any] | None, code: int, reason: str, message: str
) -> None:
    outside = Outside(a_hook())
    outside.response = {"allowed": False, "status": status}
    refused = await outside.refusal()
    assert (refused.code, refused.reason) == (code, reason)
    assert refused.message == f'admission webhook "x.acc.dev" denied the request{message}'


async def test_warnings_are_passed_on() -> None:
    outside, request = Outside(a_hook()), a_config_map_request()
    outside.response = {"allowed": True, "warnings": ["careful"]}
    await outside.plugin.admit(request)
    assert request.warnings == ["careful"]


def unreachable(review: dict[str, Any]) -> bytes:
    raise CallError("failed to call webhook: gone")


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (unreachable, "failed to call webhook: gone"),
        (
            lambda review: b'{"kind":"AdmissionReview"}',
            "received invalid webhook response: webhook response was absent",
        ),
        (
            lambda review: b'{"response":{"uid":"x"}}',
            f'received invalid webhook response: expected response.uid="{UID}", got "x"',
        ),
        (
            lambda review: f'{{"apiVersion":"v1","kind":"Pod","response":{{"uid":"{UID}"}}}}'.encode(),
            "received invalid webhook response: expected webhook response of "
            "admission.k8s.io/v1, Kind=AdmissionReview, got /v1, Kind=Pod",
        ),
    ],
    ids=["unreachable", "absent", "other uid", "other kind"],
)
async def test_a_webhook_that_fails_refuses_or_not_as_its_policy_says(
    reply: Callable[[dict[str, Any]], bytes], message: str
) -> None:
    closed, opened = Outside(a_hook()), Outside(a_hook(failurePolicy="Ignore"))
    closed.reply = opened.reply = reply
    refused = await closed.refusal()
    assert (refused.code, refused.reason) == (500, "InternalError")
    assert refused.message == f'Internal error occurred: failed calling webhook "x.acc.dev": {message}'
    await opened.plugin.admit(a_config_map_request())


async def test_an_answer_that_is_no_json_is_a_failed_call() -> None:
    outside = Outside(a_hook())
    outside.reply = lambda review: b"{"
    assert "failed to call webhook: couldn't get version/kind; json parse error" in (await outside.refusal()).message


@pytest.mark.parametrize("field", ["patch", "patchType"])
async def test_a_validating_webhook_may_not_patch(field: str) -> None:
    outside = Outside(a_hook())
    outside.response = {"allowed": True, field: "e30="}
    assert f"validating webhook may not return response.{field}" in (await outside.refusal()).message


@pytest.mark.parametrize(("side_effects", "asked"), [("None", 1), ("NoneOnDryRun", 1), ("Some", 0), ("Unknown", 0)])
async def test_a_dry_run_asks_only_harmless_webhooks(side_effects: str, asked: int) -> None:
    outside = Outside(a_hook(sideEffects=side_effects))
    if asked:
        await outside.plugin.admit(a_config_map_request(dry_run=True))
    else:
        refused = await outside.refusal(dry_run=True)
        assert (refused.code, refused.message) == (400, 'admission webhook "x.acc.dev" does not support dry run')
    assert len(outside.asked) == asked


@pytest.mark.parametrize(
    ("hook", "request_", "asked"),
    [
        ({"rules": [ANY_RULE | {"operations": ["CREATE"]}]}, {}, True),
        ({"rules": [ANY_RULE | {"operations": ["DELETE"]}]}, {}, False),
        ({"rules": [ANY_RULE | {"apiGroups": ["apps"]}]}, {}, False),
        ({"rules": [ANY_RULE | {"resources": ["configmaps"]}]}, {}, True),
        ({"rules": [ANY_RULE | {"resources": ["configmaps/status"]}]}, {}, False),
        ({"rules": [ANY_RULE | {"resources": ["*/status"]}]}, {"subresource": "status"}, True),
        ({"rules": [ANY_RULE | {"resources": ["*"]}]}, {"subresource": "status"}, False),
        ({"rules": [ANY_RULE | {"resources": ["*/*"]}]}, {"subresource": "status"}, True),
        ({"rules": [ANY_RULE | {"scope": "Namespaced"}]}, {}, True),
        ({"rules": [ANY_RULE | {"scope": "Cluster"}]}, {}, False),
        ({"rules": [ANY_RULE | {"scope": "Cluster"}]}, {"namespace": ""}, True),
        ({"namespaceSelector": {"matchLabels": {"team": "a"}}}, {}, True),
        ({"namespaceSelector": {"matchLabels": {"team": "b"}}}, {}, False),
        ({"namespaceSelector": {"matchLabels": {"team": "b"}}}, {"namespace": ""}, True),
        ({"objectSelector": {"matchLabels": {"x": "1"}}}, {}, False),
        ({"objectSelector": {"matchLabels": {"x": "1"}}}, {"obj": a_config_map(x="1")}, True),
        ({"objectSelector": {"matchLabels": {"x": "1"}}}, {"old": a_config_map(x="1")}, True),
        ({"rules": []}, {}, False),
    ],
)
async def test_only_matching_requests_are_asked_about(
    hook: dict[str, Any], request_: dict[str, Any], asked: bool
) -> None:
    outside = Outside(a_hook(**hook))
    await outside.plugin.admit(a_config_map_request(**request_))
    assert bool(outside.asked) is asked


@pytest.mark.parametrize(("policy", "sent"), [("Equivalent", ["v1"]), ("Exact", [])])
async def test_a_rule_for_one_version_stands_for_all(policy: str, sent: list[str]) -> None:
    outside = Outside(
        a_hook(matchPolicy=policy, rules=[ANY_RULE | {"apiVersions": ["v1"]}]), versions=("v2beta1", "v1")
    )
    fields = {"group": "kubeflow.org", "version": "v2beta1", "resource": "mpijobs", "kind": "MPIJob"}
    await outside.plugin.admit(a_config_map_request(**fields))
    requests = [review["request"] for _, review, _ in outside.asked]
    assert [request["kind"]["version"] for request in requests] == sent
    assert [request["requestKind"]["version"] for request in requests] == ["v2beta1"] * len(sent)
    assert [request["object"]["apiVersion"] for request in requests] == [f"kubeflow.org/{each}" for each in sent]


async def test_all_are_asked_at_the_same_time() -> None:
    outside = Outside(a_hook("a.acc.dev"), a_hook("b.acc.dev"))
    both = asyncio.Barrier(2)

    async def call(endpoint: Endpoint, body: bytes, seconds: int) -> bytes:
        await both.wait()
        return outside.answer(msgspec.json.decode(body))

    plugin = ValidatingWebhooks(outside.world, call, lambda *_: ("v1",), lambda: UID)
    await asyncio.wait_for(plugin.admit(a_config_map_request()), 5)


def test_webhook_configurations_are_never_asked_about() -> None:
    assert not Outside().plugin.handles("DELETE", CONFIGURATIONS, "")
    assert Outside().plugin.handles("CONNECT", "pods", "exec")


async def test_of_a_change_of_scale_a_webhook_is_shown_the_scale() -> None:
    outside = Outside(a_hook(rules=[{**ANY_RULE, "resources": ["*/scale"]}]))
    guise = Guise("autoscaling", "v1", "Scale", lambda obj: {"kind": "Scale", "spec": obj["data"]})
    changes = {"operation": "UPDATE", "subresource": "scale", "old": {"data": {"replicas": 1}, "metadata": {}}}
    request = a_config_map_request(**changes, obj={"data": {"replicas": 2}, "metadata": {}}, guise=guise)
    await outside.plugin.admit(request)
    asked = outside.asked[0][1]["request"]
    scale = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert (asked["kind"], asked["requestKind"], asked["subResource"]) == (scale, scale, "scale")
    assert asked["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert asked["object"] == {"kind": "Scale", "spec": {"replicas": 2}}
    assert asked["oldObject"] == {"kind": "Scale", "spec": {"replicas": 1}}


async def test_the_webhook_of_an_operator_that_does_not_run_here_is_not_asked() -> None:
    name = "validator.pytorchjob.training-operator.kubeflow.org"
    service = {"service": {"name": "training-operator", "namespace": "kubeflow"}}
    outside = Outside(a_hook(name, clientConfig=service))
    request = a_config_map_request()
    await outside.plugin.admit(request)
    assert not outside.asked
    assert request.warnings == [f'admission webhook "{name}" is not called: its operator does not run here']
    elsewhere = Outside(a_hook(name))  # somebody runs it outside of the cluster
    await elsewhere.plugin.admit(a_config_map_request())
    assert len(elsewhere.asked) == 1
