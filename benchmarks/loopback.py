# SPDX-License-Identifier: Apache-2.0
"""How long it takes to copy a state to another process of this machine, over a TCP connection and with nothing else.

The arrays and the sockets are like those of ranks. The other side's memory is there before the first byte is sent.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time

import numpy as np
from numpy.typing import NDArray

_ARRAYS = 10
_BUFFER = 4 << 20
_SIGN = b"."


def copied(megabytes: int) -> float:
    """Seconds until the other side has all."""
    arrays = _arrays(megabytes)
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = str(door.getsockname()[1])
        receiver = subprocess.Popen([sys.executable, __file__, port, str(megabytes)])
        connection, _ = door.accept()
    with connection:
        _tuned(connection)
        connection.recv(1)
        began = time.perf_counter()
        for array in arrays:
            connection.sendall(array.data.cast("B"))
        connection.recv(1)
        seconds = time.perf_counter() - began
    receiver.wait()
    return seconds


def _receive(port: int, megabytes: int) -> None:
    arrays = _arrays(megabytes)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        _tuned(connection)
        connection.sendall(_SIGN)
        for array in arrays:
            rest = array.data.cast("B")
            while rest:
                rest = rest[connection.recv_into(rest) :]
        connection.sendall(_SIGN)


def _arrays(megabytes: int) -> list[NDArray[np.float32]]:
    return [np.ones(megabytes * 1_000_000 // 4 // _ARRAYS, dtype=np.float32) for _ in range(_ARRAYS)]


def _tuned(connection: socket.socket) -> None:
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        connection.setsockopt(socket.SOL_SOCKET, option, _BUFFER)


if __name__ == "__main__":
    _receive(int(sys.argv[1]), int(sys.argv[2]))
