# SPDX-License-Identifier: Apache-2.0
"""Own addresses, own ports, and services in front of them."""

from __future__ import annotations

from tests.pods.manifests import WAIT, pod, py, service, sh
from tests.pods.spaces import Space, condition

from springtide.kube.resources import Obj

SERVER = """
    import os, signal, socket, sys, threading
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    def echo():
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind(("", 2222))
        while True:
            data, sender = datagrams.recvfrom(1000)
            datagrams.sendto(os.environ["HOSTNAME"].encode(), sender)
    threading.Thread(target=echo, daemon=True).start()
    server = socket.create_server(("", 2222), backlog=100)
    while True:
        connection, peer = server.accept()
        with connection:
            connection.sendall(f"{os.environ['HOSTNAME']} sees {peer[0]}".encode())
"""

ASK = """
    import socket, sys, time
    def ask(place):
        host, port = place.split(":")
        for _ in range(300):
            try:
                with socket.create_connection((host, int(port)), timeout=5) as connection:
                    if data := connection.recv(1000):
                        return data.decode()
            except OSError as error:
                last = error
            time.sleep(0.05)
        return repr(last)
    for place in sys.argv[1:]:
        print(ask(place), flush=True)
"""

ASK_UDP = """
    import socket, sys
    asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asking.settimeout(0.5)
    for _ in range(40):
        try:
            asking.sendto(b"who?", (sys.argv[1], int(sys.argv[2])))
            print(asking.recv(1000).decode())
            break
        except OSError:  # a datagram sent before the service knows of its pod is lost
            continue
"""

UP = {"tcpSocket": {"port": 2222}, "periodSeconds": 1}


def server(name: str, **labels: str) -> Obj:
    return pod(py(SERVER, readinessProbe=UP), name=name, labels=labels)


def asking(*places: str, name: str = "client") -> Obj:
    return pod(py(ASK, args=list(places)), name=name)


async def test_many_pods_listen_on_the_same_port(space: Space) -> None:
    names = ["a", "b", "c"]
    await space.create(*(server(name) for name in names))
    addresses = [(await space.ready(name))["status"]["podIP"] for name in names]
    assert len(set(addresses)) == 3
    log = await space.run(asking(*(f"{address}:2222" for address in addresses)))
    assert [line.split()[0] for line in log.splitlines()] == names


async def test_pods_see_each_other_s_own_addresses(space: Space) -> None:
    target = (await space.start(server("a")))["status"]["podIP"]
    log = await space.run(asking(f"{target}:2222"))
    assert log == f"a sees {(await space.ended('client'))['status']['podIP']}\n"


async def test_containers_of_a_pod_share_localhost(space: Space) -> None:
    await space.create(pod(py(SERVER, "server"), py(ASK, "client", args=["127.0.0.1:2222"])))
    assert await space.says("p", "sees", "client") == "p sees 127.0.0.1\n"


async def test_other_pods_do_not_share_localhost(space: Space) -> None:
    await space.start(server("a"))
    script = "import socket; print(socket.socket().connect_ex(('127.0.0.1', 2222)))"
    assert await space.run(pod(py(script))) == "111\n"


async def test_a_service_leads_from_its_port_to_the_target_port(space: Space) -> None:
    ports = ({"name": "one", "port": 80, "targetPort": 2222}, {"name": "two", "port": 2222})
    await space.create(service("web", {"app": "x"}, *ports))
    await space.start(server("a", app="x"))
    log = await space.run(asking("web:80", "web:2222"))
    assert [line.split()[0] for line in log.splitlines()] == ["a", "a"]


async def test_a_target_port_may_be_a_name(space: Space) -> None:
    manifest = server("a", app="x")
    manifest["spec"]["containers"][0]["ports"] = [{"name": "ssh", "containerPort": 2222}]
    await space.create(service("web", {"app": "x"}, {"port": 80, "targetPort": "ssh"}))
    await space.start(manifest)
    assert (await space.run(asking("web:80"))).startswith("a ")


async def test_a_service_spreads_over_all_ready_pods(space: Space) -> None:
    await space.create(service("web", {"app": "x"}, {"port": 80, "targetPort": 2222}))
    not_ready = pod(py(SERVER, readinessProbe={"exec": {"command": ["false"]}}), name="c", labels={"app": "x"})
    await space.create(not_ready)
    await space.start(server("a", app="x"), server("b", app="x"))
    await space.settle()
    log = await space.run(asking(*["web:80"] * 40))
    assert {line.split()[0] for line in log.splitlines()} == {"a", "b"}


async def test_a_service_of_datagrams(space: Space) -> None:
    await space.create(service("web", {"app": "x"}, {"port": 53, "targetPort": 2222, "protocol": "UDP"}))
    await space.start(server("a", app="x"))
    assert await space.run(pod(py(ASK_UDP, args=["web", "53"]), name="client")) == "a\n"


async def test_a_service_without_ready_pods_refuses(space: Space) -> None:
    await space.create(service("web", {"app": "x"}, {"port": 80}))
    await space.settle()
    script = "import socket; print(socket.socket().connect_ex(('web', 80)))"
    assert await space.run(pod(py(script))) == "111\n"


async def test_a_pod_reaches_itself_through_its_service(space: Space) -> None:
    await space.create(service("web", {"app": "x"}, {"port": 80, "targetPort": 2222}))
    await space.start(server("a", app="x"))
    script = py(ASK)["command"][3].replace("$$", "$")
    assert space.kubectl("exec", "a", "--", "python3", "-c", script, "web:80").startswith("a ")


async def test_the_api_server_can_be_asked_from_a_pod(space: Space) -> None:
    script = """
        import json, os, ssl, urllib.error, urllib.request
        folder = "/var/run/secrets/kubernetes.io/serviceaccount"
        token, namespace = open(f"{folder}/token").read(), open(f"{folder}/namespace").read()
        context = ssl.create_default_context(cafile=f"{folder}/ca.crt")
        def ask(host, path):
            request = urllib.request.Request(f"https://{host}{path}", headers={"Authorization": f"Bearer {token}"})
            try:
                with urllib.request.urlopen(request, context=context, timeout=10) as answer:
                    return answer.status, json.load(answer)
            except urllib.error.HTTPError as error:
                return error.code, json.load(error)
        here = f"{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}"
        path = f"/api/v1/namespaces/{namespace}/pods"
        for host in (here, "kubernetes.default.svc", "kubernetes.default"):
            print(ask(host, path)[0])
        print(ask(here, f"/api/v1/namespaces/{namespace}/secrets")[1]["message"])
    """
    space.kubectl("create", "role", "reader", "--verb=list", "--resource=pods")
    space.kubectl("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={space.name}:default")
    log = await space.run(pod(py(script)))
    user = f"system:serviceaccount:{space.name}:default"
    assert log == (
        f'200\n200\n200\nsecrets is forbidden: User "{user}" cannot list resource "secrets" in API group "" '
        f'in the namespace "{space.name}"\n'
    )


async def test_the_token_can_be_left_out(space: Space) -> None:
    script = "ls /var/run/secrets/kubernetes.io/serviceaccount 2>/dev/null || echo none"
    assert await space.run(pod(sh(script), automountServiceAccountToken=False)) == "none\n"


async def test_the_api_server_leads_to_pods(space: Space) -> None:
    """By the proxy subresource of pods and services."""
    web = sh(
        "cd /usr && exec python3 -m http.server 8000", readinessProbe={"tcpSocket": {"port": 8000}, "periodSeconds": 1}
    )
    await space.create(service("web", {"app": "x"}, {"port": 80, "targetPort": 8000}))
    await space.start(pod(web, labels={"app": "x"}))
    await space.settle()
    base = f"/api/v1/namespaces/{space.name}"
    for path in (f"{base}/pods/p:8000/proxy/share/", f"{base}/services/web:80/proxy/share/"):
        assert "Directory listing for /share/" in space.kubectl("get", "--raw", path)


async def test_pods_of_the_node_s_network_have_its_address(space: Space) -> None:
    seen = await space.start(pod(sh(WAIT), hostNetwork=True))
    assert seen["status"]["podIP"] == seen["status"]["hostIP"]
    assert condition(seen, "Ready")["status"] == "True"
