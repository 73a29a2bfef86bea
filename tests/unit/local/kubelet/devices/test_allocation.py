# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.local.kubelet.devices import gpus, placing
from springtide.local.kubelet.devices.allocation import Devices
from springtide.local.kubelet.devices.gpus import DriverError, Gpu
from springtide.local.kubelet.devices.placing import SHARES_PER_GPU, Held, NoDeviceError, place

WHOLE, SHARES, MEMORY = placing.RESOURCES


def cards(count: int, memory: int = 1000) -> list[Gpu]:
    return [Gpu(n, f"GPU-{n}", memory, "NVIDIA H200") for n in range(count)]


def a_node(
    data: Path, name: str = "a", *, real: int = 0, fake: int | None = None, asked: Mapping[str, str] | None = None
) -> Devices:
    (data / "nodes" / name).mkdir(parents=True, exist_ok=True)
    return Devices(data, name, asked or {}, fake, cards(real))


def a_pod(data: Path, uid: str) -> str:
    (data / "pods" / uid).mkdir(parents=True)
    return uid


def shown(variables: Mapping[str, str]) -> str:
    return variables["CUDA_VISIBLE_DEVICES"]


# Finding


def test_what_nvidia_smi_prints_is_read() -> None:
    said = "0, GPU-5a, 143771, NVIDIA H200\n1, GPU-5b, [N/A], NVIDIA GB10, odd\nFailed to initialize NVML\n\n"
    assert gpus.parsed(said) == [Gpu(0, "GPU-5a", 143771, "NVIDIA H200"), Gpu(1, "GPU-5b", 0, "NVIDIA GB10, odd")]


def test_a_machine_without_a_driver_has_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    def missing(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert gpus.found() == []


def test_a_driver_that_does_not_work_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'Failed to initialize NVML: Driver/library version mismatch'\nexit 18\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DriverError, match="version mismatch"):
        gpus.found()


# Placing


def test_shares_fill_the_fullest_gpu_that_has_room() -> None:
    held = [Held("GPU-1", 1, 600)]
    assert place(cards(3), held, {SHARES: 1, MEMORY: 300}) == [Held("GPU-1", 1, 300)]
    assert place(cards(3), held, {SHARES: 1, MEMORY: 500}) == [Held("GPU-0", 1, 500)]


def test_each_share_of_a_container_is_on_a_gpu_of_its_own() -> None:
    assert place(cards(2), [], {SHARES: 2, MEMORY: 10}) == [Held("GPU-0", 1, 10), Held("GPU-1", 1, 10)]
    with pytest.raises(NoDeviceError, match=r"3 GPU shares with 10 MiB each wanted, .* only 2 of 2"):
        place(cards(2), [], {SHARES: 3, MEMORY: 10})


def test_memory_alone_is_a_share() -> None:
    assert place(cards(1), [], {MEMORY: 10}) == [Held("GPU-0", 1, 10)]


def test_a_gpu_is_given_away_or_shared() -> None:
    with pytest.raises(NoDeviceError, match="1 GPU wanted, but only 0 of 1"):
        place(cards(1), [Held("GPU-0", 1, 0)], {WHOLE: 1})
    with pytest.raises(NoDeviceError, match="have room"):
        place(cards(1), [Held("GPU-0")], {SHARES: 1})


@given(
    count=st.integers(0, 4),
    wishes=st.lists(
        st.fixed_dictionaries(
            {}, optional={WHOLE: st.integers(1, 2), SHARES: st.integers(1, 2), MEMORY: st.integers(1, 900)}
        ),
        max_size=20,
    ),
)
def test_no_gpu_is_ever_given_twice_or_overfilled(count: int, wishes: list[dict[str, int]]) -> None:
    held: list[Held] = []
    for wish in wishes:
        try:
            held += place(cards(count), held, wish)
        except NoDeviceError:
            continue
    for gpu in cards(count):
        parts = [part for part in held if part.uuid == gpu.uuid]
        if any(part.shares == 0 for part in parts):
            assert len(parts) == 1
        assert sum(part.shares for part in parts) <= SHARES_PER_GPU
        assert sum(part.memory for part in parts) <= gpu.memory


@given(
    total=st.integers(0, 9), claims=st.dictionaries(st.sampled_from("abcd"), st.none() | st.integers(0, 5), min_size=1)
)
def test_nodes_that_say_nothing_share_what_is_left(total: int, claims: dict[str, int | None]) -> None:
    parts = [placing.portion(total, claims, node) for node, claim in claims.items() if claim is None]
    if parts:
        assert sum(parts) == max(0, total - sum(claim or 0 for claim in claims.values()))
        assert max(parts) - min(parts) <= 1


# Handing out


def test_two_nodes_never_get_the_same_gpu(tmp_path: Path) -> None:
    first, second = a_node(tmp_path, "a", real=2), a_node(tmp_path, "b", real=2)
    assert shown(first.allocate(a_pod(tmp_path, "p"), "c", {WHOLE: 1})) == "0"
    assert second.allocate(a_pod(tmp_path, "q"), "c", {WHOLE: 1}) == {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": "1",
        "NVIDIA_VISIBLE_DEVICES": "GPU-1",
    }
    with pytest.raises(NoDeviceError):
        second.allocate(a_pod(tmp_path, "r"), "c", {WHOLE: 1})


def test_a_restarted_container_and_a_restarted_agent_find_the_same_gpus(tmp_path: Path) -> None:
    pod = a_pod(tmp_path, "p")
    before = a_node(tmp_path, real=4).allocate(pod, "c", {WHOLE: 2})
    a_node(tmp_path, real=4).allocate(pod, "other", {WHOLE: 1})
    assert a_node(tmp_path, real=4).allocate(pod, "c", {WHOLE: 2}) == before


def test_gpus_are_free_again_when_the_pod_ends(tmp_path: Path) -> None:
    node = a_node(tmp_path, real=1)
    node.allocate(a_pod(tmp_path, "p"), "c", {WHOLE: 1})
    node.release("p")
    assert shown(node.allocate(a_pod(tmp_path, "q"), "c", {WHOLE: 1})) == "0"


def test_gpus_of_a_pod_whose_directory_is_gone_are_free(tmp_path: Path) -> None:
    node = a_node(tmp_path, real=1)
    node.allocate(a_pod(tmp_path, "p"), "c", {WHOLE: 1})
    (tmp_path / "pods/p").rmdir()
    assert shown(node.allocate(a_pod(tmp_path, "q"), "c", {WHOLE: 1})) == "0"


def test_a_refusal_leaves_nothing_behind(tmp_path: Path) -> None:
    node = a_node(tmp_path, real=1)
    with pytest.raises(NoDeviceError):
        node.allocate(a_pod(tmp_path, "p"), "c", {WHOLE: 2})
    assert shown(node.allocate(a_pod(tmp_path, "q"), "c", {WHOLE: 1})) == "0"


def test_pods_without_gpus_see_none_of_those_there_are(tmp_path: Path) -> None:
    hidden = {"CUDA_VISIBLE_DEVICES": "", "NVIDIA_VISIBLE_DEVICES": "void"}
    assert a_node(tmp_path, real=1).allocate(a_pod(tmp_path, "p"), "c", {"cpu": 1}) == hidden
    assert a_node(tmp_path, real=0).allocate(a_pod(tmp_path, "q"), "c", {}) == {}


# What a node has


def test_a_node_alone_has_all_gpus(tmp_path: Path) -> None:
    assert a_node(tmp_path, real=2).capacity() == {WHOLE: "2", SHARES: "20", MEMORY: "2000"}
    assert a_node(tmp_path, real=0).capacity() == {}


def test_gpus_are_cut_among_nodes(tmp_path: Path) -> None:
    nodes = [
        a_node(tmp_path, "a", real=8, asked={WHOLE: "3"}),
        a_node(tmp_path, "b", real=8),
        a_node(tmp_path, "c", real=8),
    ]
    assert WHOLE not in nodes[0].capacity()  # it has said so itself
    nodes[1].capacity()
    nodes[2].capacity()
    assert [node.capacity()[WHOLE] for node in nodes[1:]] == ["3", "2"]
    (tmp_path / "nodes/b").rmdir()
    assert nodes[2].capacity()[WHOLE] == "5"


def test_imaginary_gpus_hide_the_real_ones(tmp_path: Path) -> None:
    node = a_node(tmp_path, real=1, fake=2)
    assert node.capacity() == {WHOLE: "2", SHARES: "20", MEMORY: "32768"}
    assert shown(node.allocate(a_pod(tmp_path, "p"), "c", {WHOLE: 2})) == "1,2"


def test_a_node_may_claim_gpus_that_the_machine_does_not_have(tmp_path: Path) -> None:
    node = a_node(tmp_path, asked={WHOLE: "4"})
    assert shown(node.allocate(a_pod(tmp_path, "p"), "c", {WHOLE: 4})) == "0,1,2,3"
    shares = a_node(tmp_path, "b", asked={SHARES: "15", MEMORY: "8k"})
    assert shown(shares.allocate(a_pod(tmp_path, "q"), "c", {SHARES: 2, MEMORY: 4000})) == "0,1"
