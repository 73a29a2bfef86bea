# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from springtide.local.datadir import DataDir
from springtide.local.supervisor import leftovers

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


def a_pod(place: DataDir, uid: str, shim: dict[str, object] | None = None, node: str = "a") -> Path:
    path = place.pods / uid
    path.mkdir(parents=True)
    (path / "pod.json").write_text(json.dumps({"node": node, "namespace": "n", "name": f"p{uid}", "uid": uid}))
    if shim is not None:
        (path / "shim.json").write_text(json.dumps(shim))
    return path


def this_process() -> dict[str, object]:
    started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return {"pid": os.getpid(), "boot": Path("/proc/sys/kernel/random/boot_id").read_text().strip(), "start": started}


def test_pods_are_found_by_what_their_agents_wrote(tmp_path: Path) -> None:
    place = DataDir(tmp_path)
    a_pod(place, "1")
    a_pod(place, "2", node="b")
    (place.pods / "half-made").mkdir()
    assert [(pod.node, pod.logs) for pod in leftovers.pods(place)] == [("a", "n_p1_1"), ("b", "n_p2_2")]
    assert leftovers.pods(DataDir(tmp_path / "nowhere")) == []


def test_a_shim_is_known_by_more_than_its_number(tmp_path: Path) -> None:
    place = DataDir(tmp_path)
    assert leftovers.shim(a_pod(place, "1", this_process())) == os.getpid()
    assert leftovers.shim(a_pod(place, "2", this_process() | {"start": 1})) is None
    assert leftovers.shim(a_pod(place, "3", this_process() | {"boot": "another"})) is None
    assert leftovers.shim(a_pod(place, "4")) is None
    assert leftovers.shim(a_pod(place, "5", {"pid": "x"})) is None


def test_what_a_node_left_is_removed(tmp_path: Path) -> None:
    place = DataDir(tmp_path)
    (a_pod(place, "1") / "overlay").mkdir(mode=0)  # what nobody but root can read
    kept = a_pod(place, "2", node="b")
    (tmp_path / "logs" / "n_p1_1" / "main").mkdir(parents=True)
    (tmp_path / "exec").mkdir()
    for uid in "12":
        (tmp_path / "exec" / f"{uid}.sock").touch()
    leftovers.remove(place, "a")
    assert list(place.pods.iterdir()) == [kept]
    assert list((tmp_path / "exec").iterdir()) == [tmp_path / "exec" / "2.sock"]
    assert list((tmp_path / "logs").iterdir()) == []
