# SPDX-License-Identifier: Apache-2.0
"""Bodies of built-in kinds decode as through the real Go types; the words and results are kube-apiserver's answers."""

from __future__ import annotations

from typing import Any

import pytest

from springtide.local.schema import builtin
from springtide.local.schema.decode import DecodeError, decode

Obj = dict[str, Any]

POD = builtin.kind_node("", "v1", "Pod")
CONFIG_MAP = builtin.kind_node("", "v1", "ConfigMap")
SECRET = builtin.kind_node("", "v1", "Secret")
EVENT = builtin.kind_node("", "v1", "Event")
CLUSTER_ROLE = builtin.kind_node("rbac.authorization.k8s.io", "v1", "ClusterRole")
CRD = builtin.kind_node("apiextensions.k8s.io", "v1", "CustomResourceDefinition")

QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SECONDS = "2006-01-02T15:04:05Z07:00"
MICROS = "2006-01-02T15:04:05.000000Z07:00"


def spec(**fields: Any) -> Obj:
    return {"spec": {"containers": [{"name": "c", "image": "i"}], **fields}}


def container(**fields: Any) -> Obj:
    return spec(containers=[{"name": "c", "image": "i", **fields}])


def port(**fields: Any) -> Obj:
    return container(ports=[fields])


def meta(**fields: Any) -> Obj:
    return {"metadata": fields}


def mismatch(value: str, field: str, go: str) -> str:
    return f"json: cannot unmarshal {value} into Go struct field {field} of type {go}"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (spec(containers="x"), mismatch("string", "PodSpec.spec.containers", "[]v1.Container")),
        (spec(containers={"a": 1}), mismatch("object", "PodSpec.spec.containers", "[]v1.Container")),
        (spec(containers=[5]), mismatch("number", "PodSpec.spec.containers", "v1.Container")),
        (spec(nodeName=5), mismatch("number", "PodSpec.spec.nodeName", "string")),
        (spec(hostNetwork="yes"), mismatch("string", "PodSpec.spec.hostNetwork", "bool")),
        (spec(restartPolicy=["a"]), mismatch("array", "PodSpec.spec.restartPolicy", "v1.RestartPolicy")),
        (spec(activeDeadlineSeconds=True), mismatch("bool", "PodSpec.spec.activeDeadlineSeconds", "int64")),
        (spec(securityContext="x"), mismatch("string", "PodSpec.spec.securityContext", "v1.PodSecurityContext")),
        (spec(nodeSelector={"a": True}), mismatch("bool", "PodSpec.spec.nodeSelector", "string")),
        (
            spec(securityContext={"runAsUser": "x"}),
            mismatch("string", "PodSecurityContext.spec.securityContext.runAsUser", "int64"),
        ),
        (container(command="x"), mismatch("string", "Container.spec.containers.command", "[]string")),
        (container(command=[5]), mismatch("number", "Container.spec.containers.command", "string")),
        (
            port(containerPort="80"),
            mismatch("string", "ContainerPort.spec.containers.ports.containerPort", "int32"),
        ),
        (
            port(containerPort=80.5),
            mismatch("number 80.5", "ContainerPort.spec.containers.ports.containerPort", "int32"),
        ),
        (
            port(containerPort=99999999999),
            mismatch("number 99999999999", "ContainerPort.spec.containers.ports.containerPort", "int32"),
        ),
        (port(protocol=5), mismatch("number", "ContainerPort.spec.containers.ports.protocol", "v1.Protocol")),
        (
            container(livenessProbe={"httpGet": {"port": True}}),
            mismatch("bool", "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port", "int32"),
        ),
        (container(resources={"requests": {"cpu": "abc"}}), QUANTITY),
        (container(resources={"requests": {"cpu": True}}), QUANTITY),
        (container(resources={"requests": {"cpu": ""}}), QUANTITY),
        (meta(labels={"a": 5}), mismatch("number", "ObjectMeta.metadata.labels", "string")),
        (meta(labels=[]), mismatch("array", "ObjectMeta.metadata.labels", "map[string]string")),
        (meta(ownerReferences={}), mismatch("object", "ObjectMeta.metadata.ownerReferences", "[]v1.OwnerReference")),
        (meta(creationTimestamp=5), mismatch("number", "ObjectMeta.metadata.creationTimestamp", "string")),
        (
            meta(creationTimestamp="yesterday"),
            f'parsing time "yesterday" as "{SECONDS}": cannot parse "yesterday" as "2006"',
        ),
        ({"metadata": "x"}, mismatch("string", "Pod.metadata", "v1.ObjectMeta")),
        ({"spec": []}, mismatch("array", "Pod.spec", "v1.PodSpec")),
    ],
)
def test_a_wrong_type_is_refused_in_gos_words(body: Obj, message: str) -> None:
    with pytest.raises(DecodeError) as refused:
        decode(body, POD)
    assert str(refused.value) == message


def test_the_first_wrong_type_is_told_but_a_parser_that_gives_up_comes_before_it() -> None:
    first = spec(nodeName=1, hostname=2)
    with pytest.raises(DecodeError, match=r"PodSpec\.spec\.nodeName"):
        decode(first, POD)
    later = {"spec": {"nodeName": 1}, "metadata": {"creationTimestamp": "x"}}
    with pytest.raises(DecodeError, match="parsing time"):
        decode(later, POD)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("!!", "illegal base64 data at input byte 0"),
        ("aGk", "illegal base64 data at input byte 0"),
        ("aGkaaaaa!", "illegal base64 data at input byte 8"),
        (5, mismatch("number", "Secret.data", "[]uint8")),
    ],
)
def test_bad_base64_is_refused(data: Any, message: str) -> None:
    with pytest.raises(DecodeError) as refused:
        decode({"data": {"a": data}}, SECRET)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("given", "kept"), [("aGk=", "aGk="), ("aGk=\n", "aGk="), ("", ""), ([104, 105], "aGk="), ("aG\r\nk=", "aGk=")]
)
def test_base64_comes_back_without_line_breaks(given: Any, kept: str) -> None:
    assert decode({"data": {"a": given}}, SECRET)[0]["data"] == {"a": kept}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("2020-01-02T03:04:05Z", "2020-01-02T03:04:05Z"),
        ("2020-01-02T03:04:05.999+02:00", "2020-01-02T01:04:05Z"),
        ("2020-01-02T3:04:05Z", "2020-01-02T03:04:05Z"),
        ("2020-01-01T00:30:00+01:00", "2019-12-31T23:30:00Z"),
        ("0001-01-01T00:00:00Z", None),
        (None, None),
    ],
)
def test_times_come_back_in_whole_utc_seconds(given: str | None, kept: str | None) -> None:
    assert decode({"firstTimestamp": given}, EVENT)[0]["firstTimestamp"] == kept


def test_micro_times_keep_six_digits() -> None:
    decoded, _ = decode({"eventTime": "2020-01-02T03:04:05.123456+02:00"}, EVENT)
    assert decoded["eventTime"] == "2020-01-02T01:04:05.123456Z"


@pytest.mark.parametrize(
    ("field", "text", "message"),
    [
        ("firstTimestamp", "2020-01-02", f'"2020-01-02" as "{SECONDS}": cannot parse "" as "T"'),
        ("firstTimestamp", "2020-13-02T03:04:05Z", '"2020-13-02T03:04:05Z": month out of range'),
        ("firstTimestamp", "2020-02-30T00:00:00Z", '"2020-02-30T00:00:00Z": day out of range'),
        ("firstTimestamp", "2020-01-02T25:04:05Z", '"2020-01-02T25:04:05Z": hour out of range'),
        ("firstTimestamp", "2020-01-02T03:04:05", f'"2020-01-02T03:04:05" as "{SECONDS}": cannot parse "" as "Z07:00"'),
        ("firstTimestamp", "2020-01-02T03:04:05Zx", '"2020-01-02T03:04:05Zx": extra text: "x"'),
        (
            "firstTimestamp",
            "2020-01-02 03:04:05Z",
            f'"2020-01-02 03:04:05Z" as "{SECONDS}": cannot parse " 03:04:05Z" as "T"',
        ),
        (
            "firstTimestamp",
            "2020-01-02T03:04:05+25:00",
            '"2020-01-02T03:04:05+25:00": time zone offset hour out of range',
        ),
        ("eventTime", "2020-01-02T03:04:05Z", f'"2020-01-02T03:04:05Z" as "{MICROS}": cannot parse "Z" as ".000000"'),
        (
            "eventTime",
            "2020-01-02T03:04:05.1Z",
            f'"2020-01-02T03:04:05.1Z" as "{MICROS}": cannot parse ".1Z" as ".000000"',
        ),
    ],
)
def test_bad_times_are_refused(field: str, text: str, message: str) -> None:
    with pytest.raises(DecodeError) as refused:
        decode({field: text}, EVENT)
    assert str(refused.value) == f"parsing time {message}"


def test_unknown_fields_are_dropped_and_reported_in_order() -> None:
    body = {
        "metadata": {"name": "a", "foo.bar": 1},
        "spec": {"containers": [{"name": "c"}, {"name": "d", "bar": 1}], "nodeSelector": {"free": "x"}},
        "Data": {"case": "matters"},
        "x y": 1,
    }
    decoded, unknown = decode(body, POD)
    assert unknown == ["metadata.foo.bar", "spec.containers[1].bar", "Data", "x y"]
    assert "Data" not in decoded
    assert decoded["spec"]["containers"][1] == {"name": "d", "resources": {}}


def test_no_more_than_a_hundred_unknown_fields_are_reported() -> None:
    _, unknown = decode({f"f{number}": 1 for number in range(130)}, CONFIG_MAP)
    assert (len(unknown), unknown[-1]) == (100, "f99")


def test_empty_values_disappear_as_in_go() -> None:
    body = {
        "metadata": {"name": "a", "labels": {}, "annotations": None, "finalizers": []},
        "data": {},
        "binaryData": {"a": "aGk="},
        "immutable": None,
    }
    assert decode(body, CONFIG_MAP)[0] == {"metadata": {"name": "a"}, "binaryData": {"a": "aGk="}}


def test_values_behind_pointers_stay_even_when_empty() -> None:
    assert decode({"immutable": False}, CONFIG_MAP)[0] == {"metadata": {}, "immutable": False}
    decoded, _ = decode(spec(automountServiceAccountToken=False, hostNetwork=False, priority=0), POD)
    assert decoded["spec"] == {
        "containers": [{"name": "c", "image": "i", "resources": {}}],
        "automountServiceAccountToken": False,
        "priority": 0,
    }


def test_null_inside_maps_and_lists_is_the_zero_value() -> None:
    assert decode({"data": {"a": None, "b": "x"}}, CONFIG_MAP)[0]["data"] == {"a": "", "b": "x"}
    assert decode(container(command=[None]), POD)[0]["spec"]["containers"][0]["command"] == [""]


def test_structs_and_required_values_are_always_written() -> None:
    decoded, _ = decode({"involvedObject": None}, EVENT)
    assert decoded == {
        "metadata": {},
        "involvedObject": {},
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    }


@pytest.mark.parametrize("rules", [{}, {"rules": []}, {"rules": None}])
def test_an_optional_list_without_omitempty_becomes_null(rules: Obj) -> None:
    assert decode(rules, CLUSTER_ROLE)[0] == {"metadata": {}, "rules": None}


def test_a_missing_required_list_stays_missing() -> None:
    assert decode({"spec": {"containers": []}}, POD)[0]["spec"] == {}


def test_quantities_take_their_canonical_form() -> None:
    body = container(resources={"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": {"cpu": 0.5, "gpu": 1}})
    assert decode(body, POD)[0]["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "1", "memory": "1Gi"},
        "limits": {"cpu": "500m", "gpu": "1"},
    }


def test_a_zero_struct_is_new_each_time() -> None:
    first, second = decode({}, POD)[0], decode({}, POD)[0]
    first["status"]["phase"] = "Pending"
    assert second["status"] == {}


def schema(**fields: Any) -> Obj:
    return {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": fields}}]}}


def test_schemas_inside_a_crd_are_decoded_too() -> None:
    body = schema(
        properties={"a": {"foo": 2, "additionalProperties": {"bar": 1, "type": "string"}}},
        items=5,
        additionalProperties=True,
        default=None,
        minimum=5.0,
    )
    decoded, unknown = decode(body, CRD)
    assert unknown == ["spec.versions[0].schema.openAPIV3Schema.properties.a.foo"]
    assert decoded["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {
        "properties": {"a": {"additionalProperties": {"type": "string"}}},
        "additionalProperties": True,
        "minimum": 5,
    }


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"additionalProperties": "x"}, "boolean or JSON schema expected"),
        (
            {"maxLength": 1.5},
            mismatch("number 1.5", "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.maxLength", "int64"),
        ),
        (
            {"enum": "x"},
            mismatch("string", "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.enum", "[]v1.JSON"),
        ),
    ],
)
def test_wrong_types_inside_a_schema_are_refused(fields: Obj, message: str) -> None:
    with pytest.raises(DecodeError) as refused:
        decode(schema(**fields), CRD)
    assert str(refused.value) == message


def test_what_is_nested_too_deeply_is_refused() -> None:
    fields: Obj = {}
    for _ in range(2000):
        fields = {"properties": {"a": fields}}
    with pytest.raises(DecodeError, match="exceeded max depth"):
        decode(schema(**fields), CRD)
