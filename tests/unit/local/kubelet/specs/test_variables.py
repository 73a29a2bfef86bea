# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import msgspec
import pytest

from springtide.local.kubelet.specs import fields, variables
from springtide.local.kubelet.specs.variables import Service, VariableError, World


def a_pod(**container: Any) -> dict[str, Any]:
    metadata = {
        "namespace": "team",
        "name": "p",
        "uid": "u1",
        "labels": {"b": 'say "hi"', "a": "1"},
        "annotations": {"springtide.dev/x": "y"},
    }
    spec = {"nodeName": "n1", "serviceAccountName": "robot", "containers": [{"name": "main", **container}]}
    return {"metadata": metadata, "spec": spec}


def a_world(**given: Any) -> World:
    config_maps: dict[str, dict[str, str]] = given.get("config_maps", {})
    secrets: dict[str, dict[str, bytes]] = given.get("secrets", {})
    return World(
        config_maps.get,
        secrets.get,
        lambda volume, path: str(given["files"][volume, path]),
        given.get("services", {}),
        "10.244.1.5",
        "127.0.0.1",
        {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "4"},
    )


def of(pod: dict[str, Any], world: World) -> dict[str, str]:
    return variables.of_container(pod, pod["spec"]["containers"][0], world)


def test_env_goes_before_env_from_and_services() -> None:
    pod = a_pod(
        envFrom=[{"configMapRef": {"name": "c"}}, {"prefix": "S_", "secretRef": {"name": "s"}}],
        env=[
            {"name": "A", "value": "own"},
            {"name": "HOST", "value": "$(A)-$(S_K)-$(WEB)-$(LATER)"},
            {"name": "LATER"},
        ],
    )
    world = a_world(
        config_maps={"c": {"A": "from", "WEB": "map"}}, secrets={"s": {"K": b"k"}}, services={"WEB": "1", "X": "2"}
    )
    assert of(pod, world) == {
        "X": "2",
        "WEB": "map",
        "A": "own",
        "S_K": "k",
        "HOST": "own-k-map-$(LATER)",
        "LATER": "",
    }


def test_the_last_of_two_variables_with_one_name_wins_and_may_use_the_first() -> None:
    pod = a_pod(env=[{"name": "P", "value": "a"}, {"name": "P", "value": "$(P):b"}])
    assert of(pod, a_world()) == {"P": "a:b"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.name", "p"),
        ("metadata.namespace", "team"),
        ("metadata.uid", "u1"),
        ("metadata.labels['a']", "1"),
        ("metadata.labels['none']", ""),
        ("metadata.annotations['springtide.dev/x']", "y"),
        ("metadata.labels", 'a="1"\nb="say \\"hi\\""'),
        ("spec.nodeName", "n1"),
        ("spec.serviceAccountName", "robot"),
        ("status.podIP", "10.244.1.5"),
        ("status.podIPs", "10.244.1.5"),
        ("status.hostIP", "127.0.0.1"),
    ],
)
def test_fields_of_the_pod(path: str, expected: str) -> None:
    pod = a_pod(env=[{"name": "F", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}])
    assert of(pod, a_world())["F"] == expected


@pytest.mark.parametrize(
    ("resource", "divisor", "expected"),
    [
        ("limits.cpu", None, "2"),
        ("limits.cpu", "1m", "1500"),
        ("requests.cpu", "1", "1"),
        ("limits.memory", None, str(2**30)),
        ("limits.memory", "1Mi", "1024"),
        ("requests.memory", "1Mi", "0"),
        ("limits.ephemeral-storage", "0", "0"),
        ("limits.hugepages-2Mi", "1Mi", "4"),
    ],
)
def test_amounts_of_the_container(resource: str, divisor: str | None, expected: str) -> None:
    limits = {"cpu": "1500m", "memory": "1Gi", "hugepages-2Mi": "4Mi"}
    reference = {"resource": resource} | ({"divisor": divisor} if divisor else {})
    pod = a_pod(
        resources={"limits": limits, "requests": {"cpu": "10m"}},
        env=[{"name": "R", "valueFrom": {"resourceFieldRef": reference}}],
    )
    assert of(pod, a_world())["R"] == expected


def test_a_limit_that_is_not_set_reads_as_the_whole_node() -> None:
    reference = {"containerName": "main", "resource": "limits.memory", "divisor": "1Gi"}
    pod = a_pod(env=[{"name": "R", "valueFrom": {"resourceFieldRef": reference}}])
    assert of(pod, a_world())["R"] == "32"


@pytest.mark.parametrize(
    ("container", "complaint"),
    [
        ({"envFrom": [{"configMapRef": {"name": "c"}}]}, 'configmap "c" not found'),
        ({"envFrom": [{"secretRef": {"name": "s"}}]}, 'secret "s" not found'),
        (
            {"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}]},
            'configmap "c" not found',
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "there", "key": "k"}}}]},
            "couldn't find key k in ConfigMap team/there",
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "there", "key": "k"}}}]},
            "couldn't find key k in Secret team/there",
        ),
        ({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.x"}}}]}, "unsupported fieldPath: spec.x"),
        (
            {"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.x"}}}]},
            "unsupported container resource : limits.x",
        ),
        (
            {
                "env": [
                    {"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "containerName": "z"}}}
                ]
            },
            "container z not found",
        ),
    ],
)
def test_a_reference_that_leads_nowhere_is_said_as_kubelet_says_it(container: dict[str, Any], complaint: str) -> None:
    world = a_world(config_maps={"there": {}}, secrets={"there": {}})
    with pytest.raises(VariableError) as caught:
        of(a_pod(**container), world)
    assert str(caught.value) == complaint


def test_what_is_optional_and_missing_leaves_no_variable() -> None:
    reference = {"name": "c", "key": "k", "optional": True}
    there = {"name": "there", "key": "k", "optional": True}
    pod = a_pod(
        envFrom=[{"configMapRef": {"name": "c", "optional": True}}, {"secretRef": {"name": "c", "optional": True}}],
        env=[
            {"name": "A", "valueFrom": {"configMapKeyRef": reference}},
            {"name": "B", "valueFrom": {"secretKeyRef": reference}},
            {"name": "C", "valueFrom": {"configMapKeyRef": there}},
        ],
    )
    assert of(pod, a_world(config_maps={"there": {}})) == {}


@pytest.mark.parametrize(("value", "complaint"), [(b"\xff", "is not UTF-8 text"), (b"a\0b", "holds a zero byte")])
def test_what_no_program_can_be_given_is_refused(value: bytes, complaint: str) -> None:
    one = a_pod(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "A"}}}])
    for pod in (one, a_pod(envFrom=[{"secretRef": {"name": "s"}}])):
        with pytest.raises(VariableError, match=f"the value of variable A {complaint}; mount it as a file instead"):
            of(pod, a_world(secrets={"s": {"A": value}}))


FILE = """# left by an init container
ONE='1'
  EMPTY= 'x'

LONG='two
lines # not a comment' # a comment
ONE='again'
BROKEN = 'x'
"""


@pytest.mark.parametrize(("key", "expected"), [("ONE", "1"), ("LONG", "two\nlines # not a comment")])
def test_variables_from_a_file(key: str, expected: str) -> None:
    reference = {"volumeName": "v", "path": "e", "key": key}
    pod = a_pod(env=[{"name": "A", "valueFrom": {"fileKeyRef": reference}}])
    assert of(pod, a_world(files={("v", "e"): FILE}))["A"] == expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (FILE, "couldn't parse env file: line 8 is not of the form NAME='value'"),
        ("A=x\n", "couldn't parse env file: line 1 is not"),
        ("A='x", "couldn't parse env file: line 1 is not"),
        ("A='x' y", "couldn't parse env file: line 1 is not"),
        ("A", "couldn't parse env file: line 1 is not"),
        ("='x'", "couldn't parse env file: line 1 is not"),
        ("A='x'", 'environment variable key "Z" not found in file "e"'),
        ("Z= 'x'", 'environment variable key "Z" not found in file "e"'),
    ],
)
def test_a_file_without_the_variable(text: str, complaint: str) -> None:
    pod = a_pod(env=[{"name": "A", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "e", "key": "Z"}}}])
    with pytest.raises(VariableError, match=complaint):
        of(pod, a_world(files={("v", "e"): text}))


def test_an_optional_variable_of_a_file_may_be_missing() -> None:
    reference = {"volumeName": "v", "path": "e", "key": "Z", "optional": True}
    pod = a_pod(env=[{"name": "A", "valueFrom": {"fileKeyRef": reference}}])
    assert of(pod, a_world(files={("v", "e"): ""})) == {}


def a_service(name: str, address: str, *ports: dict[str, Any]) -> Service:
    metadata = {"name": name, "namespace": "team", "uid": "x"}
    return msgspec.convert({"metadata": metadata, "spec": {"clusterIP": address, "ports": list(ports)}}, Service)


def test_services_become_variables_in_both_old_styles() -> None:
    service = a_service(
        "web-app", "10.96.0.7", {"name": "http", "port": 80}, {"name": "dns-udp", "port": 53, "protocol": "UDP"}
    )
    assert variables.of_services([service]) == {
        "WEB_APP_SERVICE_HOST": "10.96.0.7",
        "WEB_APP_SERVICE_PORT": "80",
        "WEB_APP_SERVICE_PORT_HTTP": "80",
        "WEB_APP_SERVICE_PORT_DNS_UDP": "53",
        "WEB_APP_PORT": "tcp://10.96.0.7:80",
        "WEB_APP_PORT_80_TCP": "tcp://10.96.0.7:80",
        "WEB_APP_PORT_80_TCP_PROTO": "tcp",
        "WEB_APP_PORT_80_TCP_PORT": "80",
        "WEB_APP_PORT_80_TCP_ADDR": "10.96.0.7",
        "WEB_APP_PORT_53_UDP": "udp://10.96.0.7:53",
        "WEB_APP_PORT_53_UDP_PROTO": "udp",
        "WEB_APP_PORT_53_UDP_PORT": "53",
        "WEB_APP_PORT_53_UDP_ADDR": "10.96.0.7",
    }


def test_headless_services_have_no_variables() -> None:
    assert variables.of_services([a_service("a", "None", {"port": 1}), a_service("b", "", {"port": 1})]) == {}


def test_services_with_too_many_ports_are_refused_before_their_variables_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []
    make = variables._of_service

    def counting(name: str, *rest: Any) -> dict[str, str]:
        made.append(name)
        return make(name, *rest)

    monkeypatch.setattr(variables, "_of_service", counting)
    large = a_service("large", "10.96.0.7", *({"name": f"p{port}", "port": port} for port in range(1, 20_000)))
    small = a_service("small", "10.96.0.8", {"port": 1})
    with pytest.raises(VariableError, match=r'service "large" has 19999 ports\. Set enableServiceLinks: false'):
        variables.of_services([small, large])
    assert not made
    assert variables.of_services([small])
    assert made == ["small"]


def test_long_names_of_ports_count_as_well() -> None:
    ports = ({"name": f"{'p' * 40}-{port}", "port": port} for port in range(1, 15_000))
    with pytest.raises(VariableError, match="have more than 2097152 characters together"):
        variables.of_services([a_service("s", "10.96.0.7", *ports)])


def test_no_port_has_shorter_variables_than_are_reckoned_with() -> None:
    shortest = a_service("a", "::", {"port": 1})
    links = {name: value for name, value in variables.of_services([shortest]).items() if "_PORT_1_" in name}
    assert variables._length(links) >= variables._least_length(shortest)


def test_variables_of_services_take_from_the_room_of_all() -> None:
    services = {f"S{number}": "x" * 1000 for number in range(2000)}
    own = [{"name": "OWN", "value": "x" * 100_000}]
    assert of(a_pod(env=own), a_world())
    with pytest.raises(VariableError, match="more than 2097152 characters together"):
        of(a_pod(env=own), a_world(services=services))


def test_the_environments_programs_come_first_and_the_built_in_kubectl_last() -> None:
    assert variables.search_path(["/opt/env"]) == (
        "/opt/env/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/springtide/bin"
    )


def test_a_label_is_written_as_go_writes_strings() -> None:
    pod = {"metadata": {"annotations": {"a": 'tab\t"q" \\ 中 \x01 \u2028'}}, "spec": {}}
    assert fields.field(pod, "metadata.annotations") == r'a="tab\t\"q\" \\ 中 \x01 \u2028"'


def test_variables_that_hold_each_other_twice_do_not_fill_the_memory() -> None:
    doubling = [{"name": f"E{index}", "value": f"$(E{index - 1})$(E{index - 1})"} for index in range(1, 60)]
    with pytest.raises(VariableError, match=r"E\d+ is too long|more than 2097152 characters together"):
        of(a_pod(env=[{"name": "E0", "value": "x" * 100}, *doubling]), a_world())


def test_many_copies_of_a_long_value_do_not_fill_the_memory() -> None:
    world = a_world(config_maps={"c": {"A": "x" * 900_000}})
    copies = [{"prefix": f"P{index}_", "configMapRef": {"name": "c"}} for index in range(1000)]
    assert len(of(a_pod(envFrom=copies[:2]), world)) == 2
    with pytest.raises(VariableError, match="mount long values as files"):
        of(a_pod(envFrom=copies), world)
    references = [{"name": f"R{index}", "value": "$(P0_A)"} for index in range(1000)]
    with pytest.raises(VariableError, match="mount long values as files"):
        of(a_pod(envFrom=copies[:1], env=references), world)
