# SPDX-License-Identifier: Apache-2.0
"""Pods that attack their own cluster, and each other: what they see, whom they reach, and that the others live on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.pods.manifests import WAIT, pod, py, sh
from tests.pods.spaces import Space
from tests.robustness_pods.clusters import Victim, space_on, victim

from springtide.kube.errors import AlreadyExists
from springtide.kube.resources import ROLEBINDINGS, ROLES, SERVICEACCOUNTS, Obj

REACH = """
    while ! /opt/kube/kubectl exec NAME -- echo reached NAME 2> /dev/null; do sleep 0.2; done; ls /run/springtide/exec
"""
ATTACK = """
    import glob, json, os, pathlib, socket, ssl, subprocess, urllib.error, urllib.request
    given = GIVEN

    def tried(act):
        try:
            return act()
        except OSError as error:
            return type(error).__name__

    def connect(path):
        os.chdir(os.path.dirname(path))  # an address holds 107 bytes
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(os.path.basename(path))
            return "connected"

    def dial(host, port):
        with socket.create_connection((host, port), 2):
            return "connected"

    def ask(path, **headers):
        host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
        context = ssl._create_unverified_context()
        request = urllib.request.Request(f"https://{host}:{port}{path}", headers=headers)
        try:
            return urllib.request.urlopen(request, context=context, timeout=10).status
        except urllib.error.HTTPError as error:
            return error.code

    def unmounted(*before):
        return subprocess.run([*before, "umount", given["directory"]], capture_output=True).returncode == 0

    token = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount/token").read_text()
    secrets = "/api/v1/namespaces/kube-system/secrets"
    print("found", json.dumps({
        "files": {path: tried(lambda: len(os.listdir(path)) if os.path.isdir(path) else len(open(path, "rb").read()))
                  for path in given["files"]},
        "written": {path: tried(lambda: open(f"{path}/planted", "w").close() or "written") for path in given["write"]},
        "sockets": {path: tried(lambda: connect(path)) for path in given["sockets"]},
        "abstract": [line.split()[-1] for line in open("/proc/net/unix") if " @" in line],
        "shown": sorted(os.listdir("/run/springtide/exec")),
        "processes": {pid: tried(lambda: os.kill(pid, 0) or "signalled") for pid in given["processes"]},
        "memory": {pid: tried(lambda: open(f"/proc/{pid}/mem", "rb").close() or "read") for pid in given["processes"]},
        "first": tried(lambda: len(os.listdir(f"/proc/1/root{given['directory']}"))),
        "unmounted": unmounted(),
        "unmounted in a namespace": unmounted("unshare", "--user", "--map-root-user", "--mount"),
        "nobody": ask(secrets), "itself": ask(secrets, Authorization=f"Bearer {token}"),
        "loopback": tried(lambda: dial("127.0.0.1", given["port"])),
    }), flush=True)
"""


@pytest.fixture(scope="module", params=["root", "user"])
def shared(request: pytest.FixtureRequest) -> Iterator[Victim]:
    """In a directory that pods see, as they see the home of whoever runs the cluster."""
    with victim(request.param, ".local/share/springtide/clusters/c", within="/var/tmp") as found:
        found.up()
        yield found


def attack(found: Victim, **given: Any) -> Obj:
    place = found.place.path
    whole = {
        "directory": str(place),
        "files": [str(place), *(str(place / name) for name in ("kubeconfig", "pki", "state.db", "pods", "nodes"))],
        "write": [str(place), str(place.parent)],
        "sockets": [*map(str, place.rglob("*.sock"))],
        "processes": [found.supervisor(), found.server(), found.agent(), found.holder()],
        "port": json.loads((place / "cluster.json").read_bytes())["port"],
        **given,
    }
    return py(ATTACK.replace("GIVEN", repr(whole)))


async def test_a_pod_reaches_nothing_of_its_cluster(shared: Victim) -> None:
    async with space_on(shared) as space:
        started = await space.start(pod(sh(WAIT), name="bystander"))
        shim = shared.shim(started["metadata"]["uid"])
        assert shim
        manifest = pod(attack(shared, processes=[shim, shared.supervisor(), shared.server(), shared.agent()]), name="a")
        said = await space.run(manifest)
        found = json.loads(said.partition("found ")[2])
        nothing = {"FileNotFoundError", 0}
        assert set(found["files"].values()) <= nothing, found["files"]
        assert "written" not in found["written"].values()
        assert len(found["sockets"]) >= 3
        assert set(found["sockets"].values()) == {"FileNotFoundError"}
        assert (found["abstract"], found["shown"]) == ([], ["pod"])
        assert set(found["processes"].values()) == {"ProcessLookupError"}
        assert set(found["memory"].values()) == {"FileNotFoundError"}
        assert found["first"] in nothing | {"PermissionError"}
        assert (found["nobody"], found["itself"]) == (401, 403) or (found["nobody"], found["itself"]) == (403, 403)
        assert found["loopback"] != "connected"
        if shared.kind == "user":
            assert not found["unmounted"]
        assert not found["unmounted in a namespace"]


async def test_a_launcher_sees_the_workers_that_it_may_exec_into_as_they_join(shared: Victim) -> None:
    async with space_on(shared) as space:
        await allow_exec(space)
        script = "ls /run/springtide/exec" + "".join(REACH.replace("NAME", name) for name in ("worker-0", "worker-1"))
        await space.create(pod(sh(f"{script}; {WAIT}"), name="launcher", serviceAccountName="launcher"))
        await space.says("launcher", "pod")
        first = await space.start(pod(sh(WAIT), name="worker-0"))
        await space.says("launcher", "reached worker-0")
        second = await space.start(pod(sh(WAIT), name="worker-1"))
        await space.says("launcher", "reached worker-1")
        sockets = [f"{each['metadata']['uid']}.sock" for each in (first, second)]
        said = await space.eventually(lambda: space.log("launcher"), lambda log: log.count("pod\n") == 3)
        shown = [set(each.split()) & set(sockets) for each in said.split("pod\n")]
        assert set().union(*shown) == set(sockets)
        for name in ("launcher", "worker-0", "worker-1"):
            await space.delete(name, grace=0)
            await space.gone(name)

        async def left() -> list[Path]:
            return [path for path in (shared.place.path / "exec").rglob("*") if path.name in sockets]

        await space.eventually(left, lambda found: not found)


FLOOD = """
    import socket, subprocess
    run = ["/opt/kube/kubectl", "exec", "worker", "--", "echo", "served"]
    subprocess.run(run, check=True)
    crowd = []
    for line in (b"[" * 50_000, b'{"ticket":' * 200, b"{", b"\\xff", b'{"ticket":NaN}', b"x" * 5_000_000, *[b""] * 300):
        crowd.append(socket.socket(socket.AF_UNIX))
        crowd[-1].connect("/run/springtide/exec/UID.sock")
        try:
            crowd[-1].sendall(line and line + b"\\n")
        except OSError:
            pass
    subprocess.run(run, check=True)
    print("over")
"""


async def test_no_message_of_a_launcher_ends_its_workers(shared: Victim) -> None:
    async with space_on(shared) as space:
        await allow_exec(space)
        worker = await space.start(pod(sh(WAIT), name="worker"))
        uid = worker["metadata"]["uid"]
        shim = shared.shim(uid)
        launcher = pod(py(FLOOD.replace("UID", uid)), name="flood", serviceAccountName="launcher")
        assert await space.run(launcher) == "served\nserved\nover\n"
        assert shared.shim(uid) == shim
        assert "Traceback" not in (shared.place.pods / uid / "shim.log").read_text()


async def allow_exec(space: Space) -> None:
    """A service account that may run commands in all pods of the namespace."""
    group = "rbac.authorization.k8s.io"
    rule = {"apiGroups": [""], "resources": ["pods/exec", "pods"], "verbs": ["get", "create"]}
    reference = {"apiGroup": group, "kind": "Role", "name": "launcher"}
    subject = {"kind": "ServiceAccount", "name": "launcher", "namespace": space.name}
    metadata = {"name": "launcher", "namespace": space.name}
    role = {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": metadata, "rules": [rule]}
    binding = {"apiVersion": f"{group}/v1", "kind": "RoleBinding", "metadata": metadata}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    for resource, obj in (
        (SERVICEACCOUNTS, account),
        (ROLES, role),
        (ROLEBINDINGS, {**binding, "subjects": [subject], "roleRef": reference}),
    ):
        with suppress(AlreadyExists):
            await space.client.create(resource, obj)
