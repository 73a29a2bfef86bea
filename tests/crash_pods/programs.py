# SPDX-License-Identifier: Apache-2.0
"""The pods of the campaign: they number every line they write, so that one that is missing or out of place is seen.

standing    50 pods that run for ever, of every restart policy, some in Deployments, some with several containers; two
            of them talk to each other over one connection that must never break
passing     pods that end by themselves, in ways that a kill in between must not change
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from springtide.kube.resources import Obj

NAMESPACE = "campaign"
IMAGE = "python:3.11-slim"
MARK = "standing"
PORT = 7000

COUNT = """
import os, signal, sys, time
lines, code, again, daemon = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(1))
if again and os.path.exists(again):
    lines, code = (0, 0) if again.endswith("stay") else (lines, 0)
elif again:
    open(again, "w").close()
if daemon and not os.fork():
    os.setsid()
    if not os.fork():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(60)
    os._exit(0)
n = 0
while not told and (not lines or n < lines):
    for _ in range(5):
        n += 1
        for fd in (1, 2):
            os.write(fd, b"%d\\n" % n)
    time.sleep(0.1)
for fd in (1, 2):
    os.write(fd, b"end %d\\n" % n)
os._exit(code)
"""
"""Numbers to both streams, for ever or up to a number, and then the end with that number."""

LISTEN = f"""
import socket, threading
def echo(connection):
    while data := connection.recv(4096):
        connection.sendall(data)
listener = socket.create_server(("", {PORT}))
while True:
    threading.Thread(target=echo, args=(listener.accept()[0],), daemon=True).start()
"""

TALK = f"""
import os, signal, socket, sys, time
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
while True:
    try:
        peer = socket.create_connection(("listener-0.listener", {PORT}), timeout=5)
        break
    except OSError:
        time.sleep(0.1)
peer.settimeout(30)
n = 0
while True:
    n += 1
    peer.sendall(b"%d\\n" % n)
    if not peer.recv(64):
        sys.exit(5)
    for fd in (1, 2):
        os.write(fd, b"%d\\n" % n)
    time.sleep(0.1)
"""
"""One connection for a life: a network that goes away for a moment is forgiven, a broken connection is not."""

VISIT = f"""
import socket, sys, time
for name, port in (("listener-0.listener", {PORT}), ("front", 80), ("kubernetes.default.svc", 443)):
    for _ in range(300):
        try:
            with socket.create_connection((name, port), timeout=5) as peer:
                if port == 443 or (peer.sendall(b"x") or peer.recv(1)) == b"x":
                    break
        except OSError as error:
            print(name, error, flush=True)
        time.sleep(0.1)
    else:
        sys.exit(7)
"""
"""By a pod's own name, by a service's address and to the API server: the whole network, seen from a new pod."""


@dataclass(frozen=True)
class Wanted:
    """A pod, and what must become of it when nobody kills its shim."""

    obj: Obj
    exit_code: int | None = None
    """None for a pod that runs on."""
    restarts: int = 0
    may_lose_shim: bool = True
    counts: bool = True
    """Whether every container numbers its lines."""

    @property
    def name(self) -> str:
        return str(self.obj["metadata"]["name"])

    @property
    def policy(self) -> str:
        return str(self.obj["spec"]["restartPolicy"])


@dataclass(frozen=True)
class Population:
    pods: list[Wanted] = field(default_factory=list)
    deployments: list[Obj] = field(default_factory=list)
    services: list[Obj] = field(default_factory=list)


def counting(
    name: str = "main", *, lines: int = 0, code: int = 0, again: str = "", daemon: bool = False, **more: Any
) -> Obj:
    command = ["python3", "-I", "-S", "-c", COUNT, str(lines), str(code), again, "yes" if daemon else ""]
    return {"name": name, "image": IMAGE, "command": command, **more}


def running(name: str, program: str) -> Obj:
    return {"name": name, "image": IMAGE, "command": ["python3", "-I", "-S", "-c", program]}


def pod(name: str, *containers: Obj, policy: str = "Always", mark: str = MARK, **spec: Any) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"is": mark, "app": name}},
        "spec": {"containers": list(containers), **_spec(policy), **spec},
    }


def _spec(policy: str) -> Obj:
    return {"restartPolicy": policy, "terminationGracePeriodSeconds": 5}


def standing() -> Population:
    """Fifty pods."""
    pods = [
        Wanted(pod(f"{policy.lower()}-{n}", counting(daemon=n % 2 == 0), policy=policy))
        for policy, count in (("Always", 12), ("OnFailure", 10), ("Never", 8))
        for n in range(count)
    ]
    pods += [Wanted(pod(f"pair-{n}", counting("one"), counting("two", daemon=True))) for n in range(2)]
    before = [counting("first", lines=5), counting("beside", restartPolicy="Always")]
    pods.append(Wanted(pod("staged-0", counting(), initContainers=before)))
    listener = pod("listener-0", running("main", LISTEN), hostname="listener-0", subdomain="listener")
    pods.append(Wanted(listener, may_lose_shim=False, counts=False))
    pods.append(Wanted(pod("talker-0", running("main", TALK)), may_lose_shim=False))
    return Population(pods, [_deployment(f"group-{n}", 5) for n in range(3)], _services())


def _deployment(name: str, replicas: int) -> Obj:
    labels = {"is": MARK, "app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [counting()], **_spec("Always")}},
        },
    }


def _services() -> list[Obj]:
    selector = {"app": "listener-0"}
    named: Obj = {"clusterIP": "None", "selector": selector, "ports": [{"port": PORT}]}
    front: Obj = {"selector": selector, "ports": [{"port": 80, "targetPort": PORT}]}
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": spec,
        }
        for name, spec in (("listener", named), ("front", front))
    ]


def passing(round_name: str) -> list[Wanted]:
    """One of each way to end; the names are new in each round."""
    scratch: Obj = {"volumes": [{"name": "scratch", "emptyDir": {}}]}
    mounted: Obj = {"volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}]}
    twice = counting(lines=20, code=1, again="/scratch/seen", **mounted)
    stays = counting(lines=20, code=0, again="/scratch/stay", **mounted)
    made: list[tuple[str, Obj, str, Obj, int | None, int]] = [
        ("well", counting(lines=30), "Never", {}, 0, 0),
        ("badly", counting(lines=20, code=3, daemon=True), "Never", {}, 3, 0),
        ("later", counting(lines=60), "OnFailure", {}, 0, 0),
        ("twice", twice, "OnFailure", scratch, 0, 1),
        ("stays", stays, "Always", scratch, None, 1),
    ]
    return [
        Wanted(
            pod(f"{round_name}-{name}", container, policy=policy, mark="passing", **more),
            exit_code=code,
            restarts=restarts,
            may_lose_shim=restarts == 0,  # or it would be in a back-off, which is right and slow
        )
        for name, container, policy, more, code, restarts in made
    ]


def visitor(round_name: str) -> Wanted:
    body = pod(f"{round_name}-visitor", running("main", VISIT), policy="Never", mark="passing")
    return Wanted(body, exit_code=0, may_lose_shim=False, counts=False)
