# SPDX-License-Identifier: Apache-2.0
"""Probes of all kinds, and what follows from their answers."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pods.manifests import WAIT, pod, py, sh
from tests.pods.spaces import Space, condition, kept, last_state, restarts, state, status

from springtide.kube.resources import Obj

pytestmark = pytest.mark.any_user

HTTP = """
    import http.server, pathlib, signal, sys
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            good = self.path == "/good" and self.headers["X-Key"] == "k" and not pathlib.Path("/tmp/bad").exists()
            self.send_response(200 if good else 500)
            self.end_headers()
            self.wfile.write(b"fine" if good else b"not fine")
        def log_message(self, *_):
            pass
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    http.server.ThreadingHTTPServer(("", 8080), Handler).serve_forever()
"""

TCP = """
    import signal, socket, sys
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server = socket.create_server(("", 9000))
    while True:
        server.accept()[0].close()
"""

GRPC = """
    import pathlib, signal, socket, sys, threading
    def frame(kind, flags, stream, payload):
        return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
    def literal(name, value):
        return bytes([0, len(name)]) + name + bytes([len(value)]) + value
    def answer(connection):
        file = connection.makefile("rb")
        file.read(24)
        connection.sendall(frame(4, 0, 0, b""))
        while head := file.read(9):
            kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
            payload = file.read(int.from_bytes(head[:3], "big"))
            if kind == 4 and not flags & 1:
                connection.sendall(frame(4, 1, 0, b""))
            if kind == 6 and not flags & 1:
                connection.sendall(frame(6, 1, 0, payload))
            if kind == 0 and flags & 1:
                serving = payload[5:].endswith(b"mine") and not pathlib.Path("/tmp/bad").exists()
                message = bytes([8, 1 if serving else 2])
                connection.sendall(
                    frame(1, 4, stream, bytes([0x88]) + literal(b"content-type", b"application/grpc"))
                    + frame(0, 0, stream, bytes([0, 0, 0, 0, len(message)]) + message)
                    + frame(1, 5, stream, literal(b"grpc-status", b"0"))
                )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server = socket.create_server(("", 9000))
    while True:
        threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()
"""

PORTS = [{"name": "web", "containerPort": 8080}]
GOOD = {"httpGet": {"path": "/good", "port": "web", "httpHeaders": [{"name": "X-Key", "value": "k"}]}}
EXISTS = {"exec": {"command": ["sh", "-c", "cat /tmp/good || { echo no file; exit 1; }"]}}


def often(action: dict[str, Any], **fields: Any) -> Obj:
    return {**action, "periodSeconds": 1, **fields}


def touch(space: Space, path: str) -> None:
    space.kubectl("exec", "p", "--", "touch", path)


async def test_readiness_by_command_comes_and_goes(space: Space) -> None:
    await space.create(pod(sh(WAIT, readinessProbe=often(EXISTS, failureThreshold=1))))
    assert "Readiness probe failed: " in await space.event("p", "Unhealthy", "no file")
    seen = await space.phase("p", "Running")
    assert (status(seen)["ready"], status(seen)["started"]) == (False, True)
    assert condition(seen, "Ready")["message"] == "containers with unready status: [main]"
    touch(space, "/tmp/good")
    await space.ready()
    space.kubectl("exec", "p", "--", "rm", "/tmp/good")
    seen = await space.until("p", lambda seen: condition(seen, "Ready")["status"] == "False")
    assert restarts(seen) == 0


async def test_readiness_by_http(space: Space) -> None:
    await space.start(pod(py(HTTP, ports=PORTS, readinessProbe=often(GOOD, failureThreshold=1))))
    touch(space, "/tmp/bad")
    await space.until("p", lambda seen: not status(seen)["ready"])
    await space.event("p", "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 500")


async def test_readiness_by_tcp(space: Space) -> None:
    probe = often({"tcpSocket": {"port": 9000}})
    await space.create(pod(py(TCP, readinessProbe=probe), name="open"), pod(sh(WAIT, readinessProbe=probe)))
    await space.ready("open")
    address = (await space.phase("p", "Running"))["status"]["podIP"]
    said = await space.event("p", "Unhealthy")
    assert said == f"Readiness probe failed: dial tcp {address}:9000: connect: connection refused"


async def test_readiness_by_grpc(space: Space) -> None:
    probe = often({"grpc": {"port": 9000, "service": "mine"}}, failureThreshold=1)
    await space.start(pod(py(GRPC, readinessProbe=probe)))
    touch(space, "/tmp/bad")
    await space.until("p", lambda seen: not status(seen)["ready"])
    await space.event("p", "Unhealthy", 'service unhealthy (responded with "NOT_SERVING")')


@pytest.mark.parametrize("kind", ["exec", "http", "tcp", "grpc"])
async def test_liveness_restarts_a_container_that_fails(space: Space, kind: str) -> None:
    main = {
        "exec": sh(WAIT, livenessProbe=often({"exec": {"command": ["false"]}}, failureThreshold=1)),
        "http": py(HTTP, livenessProbe=often({"httpGet": {"path": "/bad", "port": 8080}})),
        "tcp": sh(WAIT, livenessProbe=often({"tcpSocket": {"port": 9000}}, failureThreshold=1)),
        "grpc": sh(WAIT, livenessProbe=often({"grpc": {"port": 9000}}, failureThreshold=1)),
    }[kind]
    await space.create(pod(main, restartPolicy="Always"))
    seen = await space.until("p", lambda seen: restarts(seen) >= 1)
    assert last_state(seen)["terminated"]["exitCode"] == 0
    assert await space.event("p", "Killing") == "Container main failed liveness probe, will be restarted"
    assert (await space.event("p", "Unhealthy")).startswith("Liveness probe failed: ")


async def test_liveness_that_answers_restarts_nobody(space: Space) -> None:
    live = often({"exec": {"command": ["true"]}}, failureThreshold=1)
    ready = often({"exec": {"command": ["true"]}}, initialDelaySeconds=3)
    seen = await space.start(pod(sh(WAIT, livenessProbe=live, readinessProbe=ready), restartPolicy="Always"))
    assert restarts(seen) == 0


async def test_liveness_ends_a_pod_that_is_never_restarted(space: Space) -> None:
    probe = often({"exec": {"command": ["false"]}}, failureThreshold=1)
    script = "trap 'exit 11' TERM; while :; do sleep 0.1; done"
    await space.create(pod(sh(script, livenessProbe=probe)))
    seen = await space.ended()
    assert state(seen)["terminated"]["exitCode"] == 11
    assert await space.event("p", "Killing") == "Container main failed liveness probe"


async def test_startup_holds_the_other_probes_back(space: Space) -> None:
    live = often({"exec": {"command": ["test", "-e", "/tmp/good"]}}, failureThreshold=1)
    await space.create(pod(sh(WAIT, startupProbe=often(EXISTS, failureThreshold=1000), livenessProbe=live)))
    await space.event("p", "Unhealthy")
    seen = await space.phase("p", "Running")
    assert (status(seen)["started"], status(seen)["ready"], restarts(seen)) == (False, False, 0)
    touch(space, "/tmp/good")
    seen = await space.ready()
    assert status(seen)["started"]
    assert restarts(seen) == 0


async def test_a_container_that_does_not_start_up_is_restarted(space: Space) -> None:
    await space.create(pod(sh(WAIT, startupProbe=often(EXISTS, failureThreshold=1)), restartPolicy="Always"))
    await space.until("p", lambda seen: restarts(seen) >= 1)
    assert await space.event("p", "Killing") == "Container main failed startup probe, will be restarted"
    assert (await space.event("p", "Unhealthy")).startswith("Startup probe failed: ")


async def test_a_probe_s_own_grace_goes_before_the_pod_s(space: Space) -> None:
    probe = often({"exec": {"command": ["false"]}}, failureThreshold=1, terminationGracePeriodSeconds=1)
    script = "trap '' TERM; while :; do sleep 0.1; done"
    await space.create(pod(sh(script, livenessProbe=probe), restartPolicy="Always", terminationGracePeriodSeconds=3600))
    seen = await space.until("p", lambda seen: restarts(seen) >= 1)
    assert last_state(seen)["terminated"]["exitCode"] == 137


async def test_a_command_that_takes_too_long_has_failed(space: Space) -> None:
    probe = often({"exec": {"command": ["sleep", "100"]}}, timeoutSeconds=1)
    await space.create(pod(sh(WAIT, readinessProbe=probe)))
    assert "timed out" in await space.event("p", "Unhealthy")


async def test_a_server_that_takes_too_long_has_failed(space: Space) -> None:
    script = "import socket, time; s = socket.create_server(('', 8080)); time.sleep(1000)"
    probe = often({"httpGet": {"path": "/x", "port": 8080}}, timeoutSeconds=1)
    await space.create(pod(py(script, readinessProbe=probe)))
    seen = await space.phase("p", "Running")
    said = await space.event("p", "Unhealthy", "context deadline exceeded")
    assert f'Get "http://{seen["status"]["podIP"]}:8080/x": ' in said


async def test_readiness_gates_wait_for_others(space: Space) -> None:
    await space.create(pod(sh(WAIT), readinessGates=[{"conditionType": "example.com/ok"}]))
    seen = await space.until("p", lambda seen: condition(seen, "ContainersReady")["status"] == "True")
    found = condition(seen, "Ready")
    assert (found["status"], found["reason"]) == ("False", "ReadinessGatesNotReady")
    assert found["message"] == 'corresponding condition of pod readiness gate "example.com/ok" does not exist.'
    change = {"status": {"conditions": [{"type": "example.com/ok", "status": "True"}]}}
    await space.patch_status("p", change)
    await space.ready()


async def test_an_ending_pod_is_probed_no_more(space: Space) -> None:
    script = "trap 'sleep 2; exit 0' TERM; while :; do sleep 0.1; done"
    probe = often({"exec": {"command": ["sh", "-c", "echo probed >> /tmp/count"]}})
    await space.start(
        kept(pod(sh(script, livenessProbe=probe, readinessProbe=probe), terminationGracePeriodSeconds=20))
    )
    assert state(await space.delete_and_see())["terminated"]["exitCode"] == 0
