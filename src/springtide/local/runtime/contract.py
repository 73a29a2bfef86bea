# SPDX-License-Identifier: Apache-2.0
"""The data exchanged by the node agent and a pod's shim: bodies for the shim, states for the agent.

Both sides write them as JSON files into the pod's directory, so that either may die at any moment and its successor can
continue. The shim itself is standard library only and reads the same names from plain dicts.
"""

from __future__ import annotations

import msgspec


class Mount(msgspec.Struct, frozen=True, omit_defaults=True):
    """One file or directory that is mounted into a container at an absolute path."""

    target: str
    source: str = ""
    """A host path to bind; empty for a fresh tmpfs."""
    read_only: bool = False
    part: str = ""
    """The part of the source that is bound, created where it is missing; only the shim can see into a volume in
    memory."""
    size: int | None = None
    """Size limit of a tmpfs, in bytes."""
    optional: bool = False
    """The mount is left out where it is not possible: on a shared machine a user may not read every directory."""


class Memory(msgspec.Struct, frozen=True, omit_defaults=True):
    """A volume in memory, shared by all containers of a pod: a tmpfs in the shim's mount namespace, invisible
    elsewhere."""

    path: str
    size: int
    """Size limit in bytes."""
    group: int | None = None
    """The group that owns its files, where the agent runs as root."""


class PodBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """The input of a new shim: the sandbox that all containers of the pod share."""

    uid: str
    namespace: str
    name: str
    hostname: str
    domain: str = ""
    """The rest of the fully qualified name, for pods with a subdomain."""
    address: str = ""
    """The pod's own address; empty on the host's network."""
    holder: str = ""
    """The socket of netd; empty when the pod gets no network of its own."""
    exec_socket: str = ""
    """The socket at which the shim listens for direct exec clients."""
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
    """Like the two fields below, set only where the agent runs as root."""
    group: int | None = None
    groups: tuple[int, ...] = ()
    read_only_root: bool = False
    hidden: tuple[str, ...] = ()
    """Paths of the host that hold the keys of clusters; a container sees nothing there except its own mounts."""
    cure: str = ""
    """A hint for the user whose command was not found, appended to the runtime's error message."""


class ContainerState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state of an attempt."""

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
