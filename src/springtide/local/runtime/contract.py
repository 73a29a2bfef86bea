# SPDX-License-Identifier: Apache-2.0
"""What the node agent and a pod's shim tell each other: bodies on the way down, states on the way up.

Both sides write them as JSON files into the pod's directory, so that either may die at any moment and the other, or
its successor, still knows. The shim itself is standard library only and reads the same names from plain dicts.
"""

from __future__ import annotations

import msgspec


class Mount(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that a container sees at an absolute path of its own."""

    target: str
    source: str = ""
    """A host path to bind; empty for a fresh tmpfs."""
    read_only: bool = False
    part: str = ""
    """What of the source is bound, made where it is missing; only the shim sees into a volume in memory."""
    size: int | None = None
    """Bytes that a tmpfs may hold."""
    optional: bool = False
    """Left out where it cannot be had: on a machine of others a user may not look everywhere."""


class Memory(msgspec.Struct, frozen=True, omit_defaults=True):
    """A volume in memory, which all containers of a pod share: a tmpfs of the shim's, and nobody else sees it."""

    path: str
    size: int
    """Bytes that it may hold."""
    group: int | None = None
    """Whose its files are, where the agent runs as root."""


class PodBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a shim is started with: the sandbox that all containers of the pod share."""

    uid: str
    namespace: str
    name: str
    hostname: str
    domain: str = ""
    """The rest of the fully qualified name, for pods with a subdomain."""
    address: str = ""
    """The pod's own address; empty on the host's network."""
    holder: str = ""
    """The network holder's socket; empty when the pod gets no network of its own."""
    exec_socket: str = ""
    """Where the shim listens for direct exec clients."""
    isolation: str = "namespaces"
    """`namespaces`, or `none` where the system refuses them."""
    share_processes: bool = False
    memory: tuple[Memory, ...] = ()


class ContainerBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything about one attempt to run a container. Nothing is inherited; nothing is looked up later."""

    name: str
    attempt: int
    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    log: str
    mounts: tuple[Mount, ...] = ()
    """Volumes and files, outermost first; the shim adds the root, /proc, /dev, /tmp, /run, /dev/shm and /root."""
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False
    memory_limit: int | None = None
    user: int | None = None
    """With the two below only where the agent runs as root."""
    group: int | None = None
    groups: tuple[int, ...] = ()
    read_only_root: bool = False
    hidden: tuple[str, ...] = ()
    """Paths of the host that hold the keys of clusters; a container sees nothing there but what is mounted there."""
    cure: str = ""
    """What to tell somebody whose command is not there, after the runtime's own words."""


class ContainerState(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of an attempt."""

    name: str
    attempt: int
    status: str
    """`running` or `exited`; an attempt that could not be started is `exited` with reason `StartError`."""
    pid: int = 0
    started: float = 0.0
    finished: float = 0.0
    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    """`Completed`, `Error`, `OOMKilled` or `StartError`."""
    message: str = ""
    trouble: str = ""
    """What keeps a running container from working as it should, such as a full disk under its log."""
