# SPDX-License-Identifier: Apache-2.0
"""Clusters in odd places, without namespaces, and beside each other."""

from __future__ import annotations

from tests.pods.manifests import WAIT, mount, pod, sh, variable
from tests.pods.spaces import Space, state
from tests.robustness_pods.clusters import space_on, victim

from springtide.kube.resources import Obj

ODD = f"a place with spaces, a comma: and a colon/{'long ' * 30}/c"
ADDRESS = variable("ADDRESS", fieldRef={"fieldPath": "status.podIP"})
SERVING = "cd /data; echo {} > who; exec python3 -m http.server 8080 --bind $ADDRESS"


async def test_a_data_directory_may_have_any_name(kind: str) -> None:
    volumes = [{"name": "v", "emptyDir": {}}, {"name": "m", "emptyDir": {"medium": "Memory"}}]
    mounts = [mount("v", "/v"), mount("m", "/m"), mount("v", "/usr/share/own", subPath="a b")]
    script = "touch /v/a /m/b /usr/share/own/c; ls /v /m /usr/share/own"
    with victim(kind, ODD) as found:
        found.up()
        assert len(str(found.place.path)) > 150
        async with space_on(found) as space:
            log = await space.run(pod(sh(script, volumeMounts=mounts), volumes=volumes))
            assert log.split() == ["/m:", "b", "/usr/share/own:", "c", "/v:", "a", "a", "b"]
        found.down()


def server(name: str) -> Obj:
    container = sh(SERVING.format(name), env=[ADDRESS], volumeMounts=[mount("v", "/data")])
    container["readinessProbe"] = {"httpGet": {"path": "/who", "port": 8080}, "periodSeconds": 1}
    return pod(container, name=name, volumes=[{"name": "v", "emptyDir": {}}])


async def asked(space: Space, seen: Obj) -> str:
    """What a pod hears from another's address."""
    script = (
        f"import urllib.request as u; print(u.urlopen('http://{seen['status']['podIP']}:8080/who').read().decode())"
    )
    name = f"asks-{seen['metadata']['name']}"
    log = await space.run(pod({**sh(""), "command": ["python3", "-c", script]}, name=name))
    return log.strip()


async def test_two_clusters_do_not_meet() -> None:
    """The same addresses and ports in both, and each pod finds its own neighbour."""
    with victim("user") as one, victim("user") as two:
        one.up()
        two.up()
        async with space_on(one) as first, space_on(two) as second:
            mine, yours = await first.start(server("one")), await second.start(server("two"))
            assert mine["status"]["podIP"] == yours["status"]["podIP"]
            assert (await asked(first, mine), await asked(second, yours)) == ("one", "two")


async def test_without_namespaces_clusters_share_a_machine(kind: str) -> None:
    with victim(kind) as one, victim(kind) as two:
        one.up("--isolation", "none")
        two.up("--isolation", "none")
        async with space_on(one) as first, space_on(two) as second:
            mine, yours = await first.start(server("one")), await second.start(server("two"))
            assert mine["status"]["podIP"] != yours["status"]["podIP"]
            assert (await asked(first, mine), await asked(first, yours)) == ("one", "two")


async def test_without_namespaces_pods_live_and_end_like_pods(kind: str) -> None:
    with victim(kind) as found:
        found.up("--isolation", "none")
        async with space_on(found) as space:
            script = "(setsid sleep 5000 &); (sleep 5000 &); echo bye > /dev/termination-log; exit 7"
            await space.create(pod(sh(script), name="failed"))
            ended = state(await space.ended("failed"))["terminated"]
            assert (ended["exitCode"], ended["reason"], ended["message"]) == (7, "Error", "bye\n")
            stubborn = "trap '' TERM; (setsid sleep 5000 &); while :; do sleep 0.1; done"
            await space.start(pod(sh(stubborn), name="stubborn", terminationGracePeriodSeconds=1))
            await space.delete("stubborn")
            await space.gone("stubborn")
            await space.start(pod(sh(WAIT), name="waits"))
            message = await space.event("failed", "Started")
            assert message == "Container started"
        found.down()
