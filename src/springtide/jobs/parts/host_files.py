# SPDX-License-Identifier: Apache-2.0
"""What a launcher finds in /etc/mpi: the host list in each form there is, and the way to a worker.

`discover_hosts.sh` always says slots, and fails rather than say nothing: Horovod crashes on either. `hosts_given.sh` is
asked by the init container that holds the launcher back, and knows for which pod the list is meant: the successor of
a launcher must not start on the hosts of its predecessor.

Whatever goes into a script is quoted, although names of pods need none: what a user writes is never run by a shell that
the user did not ask for.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from springtide.api.defaults.mpijob import MPI
from springtide.api.job import Job
from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.mpijob import Implementation
from springtide.jobs.kind import Hosts
from springtide.jobs.kinds.mpi import names
from springtide.jobs.observed import Settings

HOSTFILE = "hostfile"
DISCOVER = "discover_hosts.sh"
KUBEXEC = "kubexec.sh"
GIVEN = "hosts_given.sh"
_NO_KUBECTL = (
    "kubexec.sh: this launcher has no kubectl to reach its workers with. Use an image that has one, or start the "
    "operator with --kubectl-delivery-image"
)


def files(job: Job[MPI], hosts: Hosts, settings: Settings) -> Mapping[str, str]:
    made = {
        HOSTFILE: hostfile(job, hosts, settings),
        DISCOVER: discover_hosts(job, hosts, settings),
        GIVEN: hosts_given(hosts),
    }
    return made | ({KUBEXEC: kubexec(job)} if job.own.mode.attach is AttachMode.KUBEXEC else {})


def hostfile(job: Job[MPI], hosts: Hosts, settings: Settings) -> str:
    """A line for every host, once the launcher is given them; empty before."""
    own = job.own
    between = " slots=" if own.implementation is Implementation.OPEN_MPI else ":"
    names_ = _with_launcher(job, hosts.listed, settings) if hosts.serves else []
    return "".join(f"{name}{between}{own.slots_per_worker}\n" for name in names_)


def discover_hosts(job: Job[MPI], hosts: Hosts, settings: Settings) -> str:
    """Only hosts that ranks can be started on now."""
    listed = _with_launcher(job, hosts.listed, settings) if hosts.serves else []
    lines = [f"echo {shlex.quote(f'{name}:{job.own.slots_per_worker}')}" for name in listed]
    return "\n".join(["#!/bin/sh", *(lines or ["exit 1"])]) + "\n"


def hosts_given(hosts: Hosts) -> str:
    """Succeeds for the one launcher pod, named by its uid, that the list is for."""
    return f'#!/bin/sh\n[ "$1" = {shlex.quote(hosts.serves or "nobody")} ]\n'


def kubexec(job: Job[MPI]) -> str:
    """Upstream's calling convention: a pod's name, and then words that are one command. Where no kubectl was delivered
    the pod's own is used; a shell's own word on a missing one would not say what to do."""
    container = f" --container {shlex.quote(job.own.main_container)}" if job.own.main_container else ""
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
        f'"$KUBECTL" exec "$POD_NAME"{container} -- /bin/sh -c "$*"',
    )
    return "\n".join(lines) + "\n"


def _with_launcher(job: Job[MPI], pods: tuple[str, ...], settings: Settings) -> list[str]:
    first = (names.launcher(job),) if job.own.launcher_is_host else ()
    return [names.host(job, pod, settings.cluster_domain) for pod in (*first, *pods)]
