# SPDX-License-Identifier: Apache-2.0
"""What is known of the programs that launchers run: how they cope with a change of size, and what they are given.

Open MPI 5 silently ignores the names of Open MPI 4 and runs on the launcher alone, so both families of variables are
set.
"""

from __future__ import annotations

from typing import Final

from springtide.api.command_lines import HOROVODRUN, TIDERUN, Launch
from springtide.jobs.actions import Event

NO_HOSTS: Final = "NoHosts"
"""The reason of an event."""
KUBEXEC: Final = "/etc/mpi/kubexec.sh"
AGENT: Final = {"OMPI_MCA_plm_rsh_agent": KUBEXEC, "PRTE_MCA_plm_ssh_agent": KUBEXEC}
"""Ranks are started through the API server. Horovod checks that the agent is exactly this path."""
AGENT_OF_OTHERS: Final = {
    "I_MPI_HYDRA_BOOTSTRAP": "rsh",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC": KUBEXEC,
    "HYDRA_LAUNCHER": "rsh",
    "HYDRA_LAUNCHER_EXEC": KUBEXEC,
}
"""The same for Intel MPI and MPICH; the user's variables override them."""
_PATIENCE: Final = {"HOROVOD_START_TIMEOUT": "300", "HOROVOD_GLOO_TIMEOUT_SECONDS": "300"}
"""Horovod gives a host 30 s to start its first program, and ranks that wait for new ranks exit after 30 s. On a busy
node, or one that has not loaded the framework from disk before, that is too short."""


def default_hosts(hostfile: str) -> dict[str, str]:
    """Where Open MPI looks for its hosts if its command line names none: a file of lines `HOST slots=N`."""
    return {"OMPI_MCA_orte_default_hostfile": hostfile, "PRTE_MCA_prte_default_hostfile": hostfile}


def patience(launch: Launch | None) -> dict[str, str]:
    """Variables that the user's override."""
    return dict(_PATIENCE) if launch is not None and launch.program == HOROVODRUN else {}


def settles(launch: Launch | None) -> bool:
    """Whether the program may overlook a host that is added right after its start."""
    return launch is not None and launch.program == HOROVODRUN


def saves(launch: Launch | None) -> bool:
    """Whether the program writes a checkpoint on SIGTERM, if it keeps any."""
    return launch is not None and launch.program == TIDERUN


def lacks_hosts(launch: Launch | None, discovery: str) -> tuple[Event, ...]:
    """A warning about a program that is given no hosts: its ranks run in the launcher, while the workers are idle.
    Open MPI has default hosts."""
    if launch is None or launch.program not in (HOROVODRUN, TIDERUN) or launch.names_hosts or launch.discovers_hosts:
        return ()
    message = (
        f"{launch.program} is given no hosts, so that all its ranks run in the launcher and none on the workers; add "
        f"--host-discovery-script {discovery} to the launcher's command"
    )
    return (Event("Warning", NO_HOSTS, message),)


def rigid(launch: Launch) -> str:
    """Why a program that is not elastic cannot be resized."""
    if launch.program in (HOROVODRUN, TIDERUN):
        return f"{launch.program} is not elastic without --min-np or --host-discovery-script"
    return f"{launch.program} is not elastic"
