# SPDX-License-Identifier: Apache-2.0
"""On a machine with an NVIDIA GPU: what is handed out is what a program sees. Run it with `pytest tests/gpu`."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from springtide.local.kubelet.devices import gpus
from springtide.local.kubelet.devices.allocation import Devices
from springtide.local.kubelet.devices.placing import MEMORY, SHARES, WHOLE, NoDeviceError

pytestmark = pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="needs an NVIDIA GPU")

# The driver itself, without any framework: how many devices there are, and the UUID of the first.
COUNT = """
import ctypes, uuid
cuda = ctypes.CDLL("libcuda.so.1")
code, count, first = cuda.cuInit(0), ctypes.c_int(), ctypes.create_string_buffer(16)
cuda.cuDeviceGetCount(ctypes.byref(count))
if count.value:
    cuda.cuDeviceGetUuid(first, 0)
print(count.value, f"GPU-{uuid.UUID(bytes=first.raw)}" if count.value else "")
"""


def seen(variables: dict[str, str]) -> tuple[int, str]:
    environment = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", ""), **variables}
    said = subprocess.run([sys.executable, "-c", COUNT], env=environment, capture_output=True, text=True, check=True)
    count, _, first = said.stdout.strip("\n").partition(" ")
    return int(count), first


@pytest.fixture
def node(tmp_path: Path) -> Devices:
    for pod in ("p", "q"):
        (tmp_path / "pods" / pod).mkdir(parents=True)
    (tmp_path / "nodes" / "a").mkdir(parents=True)
    return Devices(tmp_path, "a", {})


def test_both_ways_of_asking_agree() -> None:
    found = gpus.found()
    assert found
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        pytest.skip("the driver's library is not where programs look for it")
    assert [(gpu.index, gpu.uuid) for gpu in gpus._from_library()] == [(gpu.index, gpu.uuid) for gpu in found]


def test_the_node_has_what_the_machine_has(node: Devices) -> None:
    found = gpus.found()
    assert node.capacity()[WHOLE] == str(len(found))
    assert int(node.capacity()[MEMORY]) == len(found) * min(gpu.memory for gpu in found)


def test_a_program_sees_the_gpu_it_was_given_and_no_other(node: Devices) -> None:
    given = node.allocate("p", "c", {WHOLE: 1})
    assert seen(given) == (1, given["NVIDIA_VISIBLE_DEVICES"])


def test_a_program_that_was_given_none_sees_none(node: Devices) -> None:
    assert seen(node.allocate("p", "c", {})) == (0, "")


def test_an_imaginary_gpu_shows_no_real_one(tmp_path: Path) -> None:
    (tmp_path / "pods" / "p").mkdir(parents=True)
    assert seen(Devices(tmp_path, "a", {}, fake_gpus=1).allocate("p", "c", {WHOLE: 1})) == (0, "")


def test_shares_are_of_one_gpu_and_memory_runs_out(node: Devices) -> None:
    memory = min(gpu.memory for gpu in gpus.found())
    first = node.allocate("p", "c", {SHARES: 1, MEMORY: memory // 2})
    assert first == node.allocate("q", "c", {SHARES: 1, MEMORY: memory // 2})
    with pytest.raises(NoDeviceError):
        node.allocate("q", "more", {SHARES: len(gpus.found()), MEMORY: memory // 2})
