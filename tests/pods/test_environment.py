# SPDX-License-Identifier: Apache-2.0
"""What programs find in their environment and on their command lines."""

from __future__ import annotations

import base64
from collections.abc import Callable

from tests.pods.clusters import NOT_FOR_PODS
from tests.pods.manifests import WAIT, annotated, config_map, pod, secret, service, sh, variable
from tests.pods.spaces import Space, state, waiting

from springtide.kube.resources import Obj


def values(log: str) -> dict[str, str]:
    """What `env` printed."""
    return dict(line.split("=", 1) for line in log.splitlines() if "=" in line)


async def test_variables_are_set_in_order_and_the_last_one_wins(space: Space) -> None:
    env = [
        {"name": "A", "value": "1"},
        {"name": "EMPTY"},
        {"name": "A", "value": "2"},
        {"name": "T", "value": " x y\t"},
    ]
    seen = values(await space.run(pod(sh("env", env=env))))
    assert (seen["A"], seen["EMPTY"], seen["T"]) == ("2", "", " x y\t")


async def test_variables_may_use_those_before_them(space: Space) -> None:
    env = [
        {"name": "A", "value": "a"},
        {"name": "B", "value": "$(A)-$(LATER)-$(MISSING)"},
        {"name": "C", "value": "$$(A) $(A $()"},
        {"name": "LATER", "value": "later"},
    ]
    seen = values(await space.run(pod(sh("env", env=env))))
    assert seen["B"] == "a-$(LATER)-$(MISSING)"
    assert seen["C"] == "$(A) $(A $()"


async def test_commands_and_arguments_use_variables(space: Space) -> None:
    main = sh("", env=[{"name": "WHO", "value": "world of pods"}])
    main |= {"command": ["printf", "%s|"], "args": ["$(WHO)", "$(WHO)$(WHO)", "$$(WHO)", "$(NOBODY)", "$$$$", "$"]}
    assert await space.run(pod(main)) == "world of pods|world of podsworld of pods|$(WHO)|$(NOBODY)|$$|$|"


async def test_whole_config_maps_and_secrets_become_variables(space: Space) -> None:
    await space.create(config_map("c", A="from config", B="b"), secret("s", A="from secret", C="c"))
    sources = [
        {"configMapRef": {"name": "c"}},
        {"secretRef": {"name": "s"}},
        {"configMapRef": {"name": "c"}, "prefix": "P_"},
        {"configMapRef": {"name": "missing", "optional": True}},
    ]
    main = sh("env", envFrom=sources, env=[{"name": "B", "value": "own"}])
    seen = values(await space.run(pod(main)))
    assert (seen["A"], seen["B"], seen["C"], seen["P_A"], seen["P_B"]) == (
        "from secret",
        "own",
        "c",
        "from config",
        "b",
    )


async def test_single_keys_become_variables(space: Space) -> None:
    await space.create(config_map("c", **{"some.key": "1"}), secret("s", key="2"))
    env = [
        variable("A", configMapKeyRef={"name": "c", "key": "some.key"}),
        variable("B", secretKeyRef={"name": "s", "key": "key"}),
        variable("C", configMapKeyRef={"name": "c", "key": "missing", "optional": True}),
        variable("D", secretKeyRef={"name": "missing", "key": "key", "optional": True}),
    ]
    seen = values(await space.run(pod(sh("env", env=env))))
    assert (seen["A"], seen["B"]) == ("1", "2")
    assert "C" not in seen
    assert "D" not in seen


async def test_a_missing_config_map_holds_the_container_back_until_it_is_there(space: Space) -> None:
    env = [variable("A", configMapKeyRef={"name": "c", "key": "k"})]
    await space.create(pod(sh("env", env=env)))

    def waits_for(text: str) -> Callable[[Obj], bool]:
        wanted = {"reason": "CreateContainerConfigError", "message": text}
        return lambda seen: state(seen).get("waiting") == wanted

    seen = await space.until("p", waits_for('configmap "c" not found'))
    assert seen["status"]["phase"] == "Pending"
    await space.create(config_map("c", other=""))
    await space.until("p", waits_for(f"couldn't find key k in ConfigMap {space.name}/c"))
    await space.apply(config_map("c", k="here"))
    await space.ended()
    assert values(await space.log())["A"] == "here"


async def test_a_missing_secret_says_so(space: Space) -> None:
    await space.create(pod(sh("env", envFrom=[{"secretRef": {"name": "s"}}])))
    seen = await space.until("p", lambda seen: waiting(seen) == "CreateContainerConfigError")
    assert state(seen)["waiting"]["message"] == 'secret "s" not found'
    assert await space.event("p", "Failed") == 'Error: secret "s" not found'


async def test_a_pod_can_read_about_itself(space: Space) -> None:
    fields = {
        "NAME": "metadata.name",
        "NAMESPACE": "metadata.namespace",
        "UID": "metadata.uid",
        "LABEL": "metadata.labels['app']",
        "ANNOTATION": "metadata.annotations['example.com/note']",
        "NO_LABEL": "metadata.labels['missing']",
        "NODE": "spec.nodeName",
        "ACCOUNT": "spec.serviceAccountName",
        "IP": "status.podIP",
        "IPS": "status.podIPs",
        "HOST": "status.hostIP",
        "HOSTS": "status.hostIPs",
    }
    env = [variable(name, fieldRef={"fieldPath": path}) for name, path in fields.items()]
    manifest = annotated(pod(sh("env", env=env), labels={"app": "x"}), **{"example.com/note": "two words"})
    seen = values(await space.run(manifest))
    obj = await space.ended()
    assert {name: seen[name] for name in fields} == {
        "NAME": "p",
        "NAMESPACE": space.name,
        "UID": obj["metadata"]["uid"],
        "LABEL": "x",
        "ANNOTATION": "two words",
        "NO_LABEL": "",
        "NODE": obj["spec"]["nodeName"],
        "ACCOUNT": "default",
        "IP": obj["status"]["podIP"],
        "IPS": obj["status"]["podIP"],
        "HOST": obj["status"]["hostIP"],
        "HOSTS": obj["status"]["hostIP"],
    }


async def test_a_pod_can_read_what_it_may_use(space: Space) -> None:
    resources = {"requests": {"cpu": "250m", "memory": "32Mi"}, "limits": {"cpu": "1500m", "memory": "64Mi"}}
    env = [
        variable("CPU", resourceFieldRef={"resource": "limits.cpu"}),
        variable("MILLI", resourceFieldRef={"resource": "limits.cpu", "divisor": "1m"}),
        variable("MEMORY", resourceFieldRef={"resource": "limits.memory"}),
        variable("MEBI", resourceFieldRef={"resource": "requests.memory", "divisor": "1Mi"}),
        variable("ASKED", resourceFieldRef={"resource": "requests.cpu", "divisor": "1m"}),
        variable("OTHER", resourceFieldRef={"resource": "requests.cpu", "containerName": "other", "divisor": "1m"}),
    ]
    other = sh("true", "other", resources={"requests": {"cpu": "50m"}})
    await space.create(pod(sh("env", env=env, resources=resources), other))
    await space.ended()
    seen = values(await space.log(container="main"))
    wanted = {"CPU": "2", "MILLI": "1500", "MEMORY": "67108864", "MEBI": "32", "ASKED": "250", "OTHER": "50"}
    assert {name: seen[name] for name in wanted} == wanted


async def test_without_a_limit_the_node_is_the_limit(space: Space) -> None:
    env = [variable("MEMORY", resourceFieldRef={"resource": "limits.memory", "divisor": "1Mi"})]
    seen = values(await space.run(pod(sh("env", env=env))))
    assert int(seen["MEMORY"]) > 100


async def test_services_become_variables(space: Space) -> None:
    ports = ({"name": "web", "port": 80, "targetPort": 8080}, {"name": "admin-x", "port": 90, "protocol": "UDP"})
    await space.create(service("my-db", {"app": "x"}, *ports), service("headless", {"app": "x"}, clusterIP="None"))
    await space.settle()
    seen = values(await space.run(pod(sh("env"))))
    address = seen["MY_DB_SERVICE_HOST"]
    wanted = {
        "MY_DB_SERVICE_PORT": "80",
        "MY_DB_SERVICE_PORT_WEB": "80",
        "MY_DB_SERVICE_PORT_ADMIN_X": "90",
        "MY_DB_PORT": f"tcp://{address}:80",
        "MY_DB_PORT_80_TCP": f"tcp://{address}:80",
        "MY_DB_PORT_80_TCP_PROTO": "tcp",
        "MY_DB_PORT_80_TCP_PORT": "80",
        "MY_DB_PORT_80_TCP_ADDR": address,
        "MY_DB_PORT_90_UDP": f"udp://{address}:90",
    }
    assert {name: seen.get(name) for name in wanted} == wanted
    assert not [name for name in seen if name.startswith("HEADLESS")]
    assert {"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBERNETES_SERVICE_PORT_HTTPS"} <= set(seen)


async def test_services_do_not_become_variables_where_nobody_wants_it(space: Space) -> None:
    await space.create(service("my-db", {"app": "x"}, {"port": 80}))
    await space.settle()
    seen = values(await space.run(pod(sh("env"), enableServiceLinks=False)))
    assert "MY_DB_SERVICE_HOST" not in seen
    assert "KUBERNETES_SERVICE_HOST" in seen


async def test_nothing_comes_from_whoever_started_the_cluster(space: Space) -> None:
    seen = values(await space.run(pod(sh("env"))))
    assert NOT_FOR_PODS not in seen
    assert seen["HOSTNAME"] == "p"
    assert seen["HOME"] == "/root"
    assert "PATH" in seen


async def test_values_of_any_bytes_arrive(space: Space) -> None:
    text = "line one\nline two\n'quoted' \"twice\" \\ ü 潮"
    data = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    await space.create(data | {"data": {"k": base64.b64encode(text.encode()).decode()}})
    env = [variable("A", secretKeyRef={"name": "s", "key": "k"})]
    assert await space.run(pod(sh('printf %s "$A"', env=env))) == text


async def test_the_working_directory_is_the_pod_s_choice(space: Space) -> None:
    assert await space.run(pod(sh("pwd; echo $PWD", workingDir="/usr/share"))) == "/usr/share\n/usr/share\n"


async def test_standard_input_is_empty_unless_wanted(space: Space) -> None:
    assert await space.run(pod(sh("wc -c; echo over"))) == "0\nover\n"


async def test_a_running_program_keeps_its_environment(space: Space) -> None:
    await space.create(config_map("c", k="old"))
    await space.start(pod(sh(WAIT, env=[variable("A", configMapKeyRef={"name": "c", "key": "k"})])))
    await space.apply(config_map("c", k="new"))
    assert space.kubectl("exec", "p", "--", "printenv", "A") == "old\n"
