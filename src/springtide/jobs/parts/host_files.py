# SPDX-License-Identifier: Apache-2.0
"""The files of a launcher's config volume: the host list in all its forms, and the script that reaches a worker.

`discover_hosts.sh` always prints slots, and fails rather than print nothing: Horovod crashes on either.
`hosts_given.sh` is called by the init container that holds the launcher back; it checks for which pod the list is
meant, as a launcher's successor must not start on its predecessor's hosts.

Every value in a script is quoted, although pod names need no quoting: user input is never run by a shell that the user
did not ask for.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

HOSTFILE = "hostfile"
DISCOVER = "discover_hosts.sh"
KUBEXEC = "kubexec.sh"
GIVEN = "hosts_given.sh"
_NO_KUBECTL = (
    "kubexec.sh: this launcher has no kubectl to reach its workers with. Use an image that has one, or start the "
    "operator with --kubectl-delivery-image"
)


def hostfile(hosts: Sequence[str], slots: int, between: str) -> str:
    """One line per host; `between` separates the host and the number of slots."""
    return "".join(f"{host}{between}{slots}\n" for host in hosts)


def discover_hosts(hosts: Sequence[str], slots: int) -> str:
    lines = [f"echo {shlex.quote(f'{host}:{slots}')}" for host in hosts]
    return "\n".join(["#!/bin/sh", *(lines or ["exit 1"])]) + "\n"


def hosts_given(launcher: str) -> str:
    """Succeeds only for the launcher pod that the list is for, identified by uid."""
    return f'#!/bin/sh\n[ "$1" = {shlex.quote(launcher or "nobody")} ]\n'


def kubexec(container: str) -> str:
    """Follows upstream's calling convention: a pod's name, then the words of one command, which runs in this container,
    otherwise in the pod's first one. The pod's own kubectl is used if none was delivered; if there is none, the script
    says what to do, which a shell's error message would not."""
    option = f" --container {shlex.quote(container)}" if container else ""
    lines = (
        "#!/bin/sh",
        "KUBECTL=/opt/kube/kubectl",
        '[ -x "$KUBECTL" ] || KUBECTL=kubectl',
        'if ! command -v "$KUBECTL" >/dev/null; then',
        f"  echo {shlex.quote(_NO_KUBECTL)} >&2",
        "  exit 127",
        "fi",
        "set -x",
        "POD_NAME=$1",
        "shift",
        f'"$KUBECTL" exec "$POD_NAME"{option} -- /bin/sh -c "$*"',
    )
    return "\n".join(lines) + "\n"
