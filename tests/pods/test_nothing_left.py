# SPDX-License-Identifier: Apache-2.0
"""When a pod is gone, everything of it is gone: processes, mounts, namespaces, files."""

from __future__ import annotations

import itertools
import os
from contextlib import suppress
from pathlib import Path

from tests.pods.clusters import Cluster
from tests.pods.manifests import config_map, mount, pod, py, sh
from tests.pods.spaces import Space

from springtide.kube.resources import PODS, Key

MARK = "SPRINGTIDE_LEFT_BEHIND"
KINDS = ("net", "pid", "mnt", "uts", "ipc")

DAEMONS = """
    import os, signal, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(10000)
            os._exit(0)
    print("up", flush=True)
    time.sleep(10000)
"""


def processes(file: str, mark: str) -> list[int]:
    """Everybody whose environment, or command line, has the mark in it."""
    found = []
    for path in Path("/proc").glob(f"[0-9]*/{file}"):
        with suppress(OSError):  # ended meanwhile
            if mark.encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def namespaces(*processes: int | str) -> set[str]:
    """Those that the processes are in."""
    found = set()
    for process in processes:
        for kind in KINDS:
            with suppress(OSError):
                found.add(os.readlink(f"/proc/{process}/ns/{kind}"))
    return found


def members(spaces: set[str]) -> dict[str, str]:
    """Who is in any of the namespaces, and since when: numbers of processes and of namespaces are used again."""
    found = {}
    for process in os.listdir("/proc"):
        if process.isdigit() and namespaces(process) & spaces:
            with suppress(OSError):
                found[process] = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    return found


def files(uid: str, place: Path) -> list[str]:
    walks = itertools.chain(os.walk(place), os.walk("/dev/shm"))  # unlike a glob, it does not mind what goes meanwhile
    found = [f"{path}/{name}" for path, folders, names in walks for name in (*folders, *names) if uid in name]
    return found + [line for line in Path("/proc/self/mounts").read_text().splitlines() if uid in line]


async def test_a_deleted_pod_leaves_nothing(embedded: Cluster, space: Space) -> None:
    assert embedded.place is not None
    place, mark = embedded.place.path, f"{MARK}={space.name}"
    await space.create(config_map("c", k="v"))
    env = [{"name": MARK, "value": space.name}]
    volumes = [
        {"name": "c", "configMap": {"name": "c"}},
        {"name": "e", "emptyDir": {}},
        {"name": "m", "emptyDir": {"medium": "Memory"}},
    ]
    mounts = [mount("c", "/c"), mount("e", "/e"), mount("m", "/m")]
    main = py(DAEMONS, env=env, volumeMounts=mounts)
    manifest = pod(main, sh("sleep 10000", "other", env=env), volumes=volumes, terminationGracePeriodSeconds=1)
    uid = (await space.start(manifest))["metadata"]["uid"]
    await space.says("p", "up", "main")
    running = processes("environ", mark)
    assert len(running) >= 5
    own = namespaces(*running) - namespaces("self")
    inside = members(own)
    assert processes("cmdline", uid)
    assert files(uid, place)
    await space.delete()
    await space.gone()

    async def left() -> list[object]:
        ended = [*processes("environ", mark), *processes("cmdline", uid)]
        return [*ended, *files(uid, place), *(inside.items() & members(own).items())]

    await space.eventually(left, lambda found: found == [])


async def test_a_pod_that_ended_leaves_its_log_and_nothing_that_runs(embedded: Cluster, space: Space) -> None:
    env = [{"name": MARK, "value": space.name}]
    script = "sleep 1000 & (setsid sleep 1000 &) ; echo log"
    await space.run(pod(sh(script, env=env)))
    uid = (await space.client.get(PODS, Key(space.name, "p")))["metadata"]["uid"]

    async def left() -> list[int]:
        return processes("environ", f"{MARK}={space.name}") + processes("cmdline", uid)

    await space.eventually(left, lambda found: found == [])
    assert await space.log() == "log\n"


async def test_a_deleted_namespace_takes_its_pods_along(embedded: Cluster, space: Space) -> None:
    env = [{"name": MARK, "value": space.name}]
    await space.start(*(pod(sh("sleep 1000", env=env), name=name) for name in ("a", "b")))
    assert len(processes("environ", f"{MARK}={space.name}")) >= 2
    space.kubectl("delete", "namespace", space.name)
    assert processes("environ", f"{MARK}={space.name}") == []
