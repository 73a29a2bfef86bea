# SPDX-License-Identifier: Apache-2.0
"""The real GPUs of this machine, read from nvidia-smi or, where that is missing, from the driver's library."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from dataclasses import dataclass

_FIELDS = "index,uuid,memory.total,name"
_PATIENCE = 20.0
"""Seconds; a driver without persistence mode takes some to initialize."""
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Gpu:
    index: int
    """In the order of the PCI bus, which programs follow with CUDA_DEVICE_ORDER=PCI_BUS_ID."""
    uuid: str
    memory: int
    """MiB."""
    name: str


class DriverError(Exception):
    """A driver is installed, and it does not work; the message is the driver's."""


def found() -> list[Gpu]:
    """The GPUs; empty where there is no driver."""
    if (program := shutil.which("nvidia-smi")) is not None:
        return _from_program(program)
    return _from_library()


def _from_program(program: str) -> list[Gpu]:
    command = [program, f"--query-gpu={_FIELDS}", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DriverError(f"{program}: {error}") from None
    if answer.returncode != 0:
        lines = (answer.stdout + answer.stderr).strip().splitlines()
        raise DriverError(f"{program}: {lines[0] if lines else f'ended with status {answer.returncode}'}")
    return parsed(answer.stdout)


def parsed(listing: str) -> list[Gpu]:
    """Parse nvidia-smi's output, a line per GPU: `0, GPU-9e…, 143771, NVIDIA H200`. Names may hold commas."""
    gpus = []
    for line in listing.splitlines():
        fields = [field.strip() for field in line.split(",", 3)]
        if len(fields) == 4 and fields[0].isdecimal():
            # Cards that share the machine's memory print [N/A].
            gpus.append(Gpu(int(fields[0]), fields[1], int(fields[2]) if fields[2].isdecimal() else 0, fields[3]))
    return gpus


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


def _from_library() -> list[Gpu]:
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return []
    _check(library.nvmlInit_v2(), "nvmlInit")
    try:
        count = ctypes.c_uint()
        _check(library.nvmlDeviceGetCount_v2(ctypes.byref(count)), "nvmlDeviceGetCount")
        return [_described(library, index) for index in range(count.value)]
    finally:
        library.nvmlShutdown()


def _described(library: ctypes.CDLL, index: int) -> Gpu:
    device, memory = ctypes.c_void_p(), _Memory()
    uuid, name = ctypes.create_string_buffer(96), ctypes.create_string_buffer(96)
    _check(library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)), "nvmlDeviceGetHandleByIndex")
    _check(library.nvmlDeviceGetUUID(device, uuid, len(uuid)), "nvmlDeviceGetUUID")
    _check(library.nvmlDeviceGetName(device, name, len(name)), "nvmlDeviceGetName")
    if library.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory)) != 0:
        memory.total = 0  # shared with the machine
    return Gpu(index, uuid.value.decode(), memory.total // _MIB, name.value.decode())


def _check(code: int, what: str) -> None:
    if code != 0:
        raise DriverError(f"libnvidia-ml.so.1: {what} gives {code}")
