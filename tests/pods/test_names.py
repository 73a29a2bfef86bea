# SPDX-License-Identifier: Apache-2.0
"""Names: of the pod itself, of others, of services."""

from __future__ import annotations

from tests.pods.manifests import WAIT, pod, py, service, sh
from tests.pods.spaces import Space

RESOLVE = """
    import socket, sys
    def addresses(name):
        try:
            return sorted({found[4][0] for found in socket.getaddrinfo(name, None, socket.AF_INET)})
        except socket.gaierror:
            return []
    for name in sys.argv[1:]:
        print(name, *addresses(name))
"""


async def resolve(space: Space, *names: str) -> dict[str, list[str]]:
    """The addresses of names, as a program in the running pod p sees them."""
    script = py(RESOLVE)["command"][3].replace("$$", "$")
    lines = space.kubectl("exec", "p", "--", "python3", "-c", script, *names).splitlines()
    return {line.split()[0]: line.split()[1:] for line in lines}


async def test_the_host_name_is_the_pod_s(space: Space) -> None:
    manifest = pod(sh("hostname; cat /etc/hostname; uname -n; echo $HOSTNAME"), name="some-pod")
    assert await space.run(manifest) == "some-pod\n" * 4


async def test_the_host_name_can_be_chosen(space: Space) -> None:
    assert await space.run(pod(sh("hostname; hostname -f"), hostname="chosen")) == "chosen\nchosen\n"


async def test_a_name_that_is_too_long_is_cut(space: Space) -> None:
    name = "a" * 62 + "-" + "b" * 20
    assert await space.run(pod(sh("hostname"), name=name)) == "a" * 62 + "\n"


async def test_with_a_subdomain_there_is_a_full_name(space: Space) -> None:
    full = f"me.group.{space.name}.svc.cluster.local"
    log = await space.run(pod(sh("hostname; hostname -f"), hostname="me", subdomain="group"))
    assert log == f"me\n{full}\n"


async def test_a_full_name_can_be_the_host_name(space: Space) -> None:
    manifest = pod(sh("hostname"), hostname="me", subdomain="group", setHostnameAsFQDN=True)
    assert await space.run(manifest) == f"me.group.{space.name}.svc.cluster.local\n"


async def test_the_hosts_file_knows_the_pod_and_its_aliases(space: Space) -> None:
    aliases = [{"ip": "192.0.2.7", "hostnames": ["foo", "bar.example"]}]
    manifest = pod(sh("cat /etc/hosts; getent hosts bar.example"), hostAliases=aliases)
    log = await space.run(manifest)
    address = (await space.ended())["status"]["podIP"]
    assert log.startswith("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n")
    assert f"\n{address}\tp\n" in log
    assert "\n# Entries added by HostAliases.\n192.0.2.7\tfoo\tbar.example\n" in log
    assert "192.0.2.7" in log.splitlines()[-1]


async def test_the_hosts_file_has_the_full_name_first(space: Space) -> None:
    log = await space.run(pod(sh("cat /etc/hosts"), hostname="me", subdomain="group"))
    address = (await space.ended())["status"]["podIP"]
    assert f"\n{address}\tme.group.{space.name}.svc.cluster.local\tme\n" in log


async def test_resolv_conf_searches_the_namespace_first(space: Space) -> None:
    log = await space.run(pod(sh("cat /etc/resolv.conf")))
    search = next(line for line in log.splitlines() if line.startswith("search "))
    wanted = [f"{space.name}.svc.cluster.local", "svc.cluster.local", "cluster.local"]
    assert search.split()[1:4] == wanted
    assert "options ndots:5" in log
    assert log.count("nameserver ") == 1


async def test_resolv_conf_can_be_the_pod_s_own(space: Space) -> None:
    config = {"nameservers": ["192.0.2.1"], "searches": ["x.example"], "options": [{"name": "ndots", "value": "1"}]}
    log = await space.run(pod(sh("cat /etc/resolv.conf"), dnsPolicy="None", dnsConfig=config))
    assert log.splitlines() == ["search x.example", "nameserver 192.0.2.1", "options ndots:1"]


async def test_a_service_s_name_is_its_address(space: Space) -> None:
    await space.create(service("web", {"app": "x"}, {"port": 80}))
    await space.start(pod(sh(WAIT)))
    address = space.kubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
    names = ["web", f"web.{space.name}", f"web.{space.name}.svc", f"web.{space.name}.svc.cluster.local"]
    assert await resolve(space, *names) == {name: [address] for name in names}


async def test_unknown_names_are_unknown(space: Space) -> None:
    await space.start(pod(sh(WAIT)))
    assert await resolve(space, "nobody", "nobody.default.svc.cluster.local") == {
        "nobody": [],
        "nobody.default.svc.cluster.local": [],
    }


async def test_a_headless_service_s_name_is_all_its_pods(space: Space) -> None:
    await space.create(service("group", {"app": "x"}, {"port": 80}, clusterIP="None"))
    members = [pod(sh(WAIT), name=name, labels={"app": "x"}, hostname=name, subdomain="group") for name in ("a", "b")]
    await space.start(*members, pod(sh(WAIT)))
    a, b = [(await space.ready(name))["status"]["podIP"] for name in ("a", "b")]
    wanted = {"group": sorted([a, b]), "a.group": [a], f"b.group.{space.name}.svc.cluster.local": [b]}
    await space.eventually(lambda: resolve(space, *wanted), lambda found: found == wanted)


async def test_names_go_when_their_pods_go(space: Space) -> None:
    await space.create(service("group", {"app": "x"}, {"port": 80}, clusterIP="None"))
    await space.start(pod(sh(WAIT), name="a", labels={"app": "x"}, hostname="a", subdomain="group"), pod(sh(WAIT)))
    await space.eventually(lambda: resolve(space, "a.group"), lambda found: found["a.group"] != [])
    await space.delete("a")
    await space.eventually(lambda: resolve(space, "a.group"), lambda found: found["a.group"] == [])


async def test_pods_that_are_not_ready_have_names_only_where_wanted(space: Space) -> None:
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 1}
    await space.create(
        service("all", {"app": "x"}, {"port": 80}, clusterIP="None", publishNotReadyAddresses=True),
        service("ready", {"app": "x"}, {"port": 80}, clusterIP="None"),
        pod(sh(WAIT, readinessProbe=probe), name="a", labels={"app": "x"}, hostname="a", subdomain="all"),
    )
    await space.start(pod(sh(WAIT)))
    address = (await space.phase("a", "Running"))["status"]["podIP"]
    wanted = {"all": [address], "a.all": [address], "ready": []}
    await space.eventually(lambda: resolve(space, *wanted), lambda found: found == wanted)


async def test_a_pod_finds_itself(space: Space) -> None:
    seen = await space.start(pod(sh(WAIT), name="p", hostname="me", subdomain="group"))
    address = seen["status"]["podIP"]
    assert await resolve(space, "me", "localhost") == {"me": [address], "localhost": ["127.0.0.1"]}
