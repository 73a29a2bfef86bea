# SPDX-License-Identifier: Apache-2.0
"""The environment variables of MPI implementations in a launcher.

Open MPI 5 silently ignores the names of Open MPI 4 and runs on the launcher alone, so both families are set.
"""

from __future__ import annotations

from springtide.api.command_lines import HOROVODRUN, launch_of
from springtide.api.defaults.mpijob import MPI
from springtide.api.job import Job
from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.mpijob import Implementation
from springtide.api.kinds.replicas import LAUNCHER

HOSTFILE = "/etc/mpi/hostfile"
KUBEXEC = "/etc/mpi/kubexec.sh"
_SSH_ARGS = "-o ConnectionAttempts=10"
_PATIENCE = {"HOROVOD_START_TIMEOUT": "300", "HOROVOD_GLOO_TIMEOUT_SECONDS": "300"}
"""Horovod gives a host 30 s to start its first program, and ranks that wait for new ranks exit after 30 s. On a busy
node, or one that has not loaded the framework from disk before, that is too short."""


def of_launcher(job: Job[MPI]) -> dict[str, str]:
    """Variables that override the user's, as upstream does."""
    found = _over_ssh(job) if job.own.mode.attach is AttachMode.SSH else _over_exec()
    hidden = {} if job.own.launcher_is_host else {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""}
    return found | hidden


def if_unset(job: Job[MPI]) -> dict[str, str]:
    """Variables that the user's override."""
    launch = launch_of(job.roles[LAUNCHER].template)
    patience = _PATIENCE if launch is not None and launch.program == HOROVODRUN else {}
    if job.own.mode.attach is AttachMode.SSH:
        return patience
    return patience | {
        "I_MPI_HYDRA_BOOTSTRAP": "rsh",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC": KUBEXEC,
        "HYDRA_LAUNCHER": "rsh",
        "HYDRA_LAUNCHER_EXEC": KUBEXEC,
    }


def _over_exec() -> dict[str, str]:
    """Horovod checks that the agent is exactly this path."""
    return {
        "OMPI_MCA_plm_rsh_agent": KUBEXEC,
        "OMPI_MCA_orte_default_hostfile": HOSTFILE,
        "PRTE_MCA_plm_ssh_agent": KUBEXEC,
        "PRTE_MCA_prte_default_hostfile": HOSTFILE,
    }


def _over_ssh(job: Job[MPI]) -> dict[str, str]:
    slots = str(job.own.slots_per_worker)
    families = {
        Implementation.OPEN_MPI: {
            "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
            "OMPI_MCA_orte_default_hostfile": HOSTFILE,
            "OMPI_MCA_plm_rsh_args": _SSH_ARGS,
            "OMPI_MCA_orte_set_default_slots": slots,
            "PRTE_MCA_prte_keep_fqdn_hostnames": "true",
            "PRTE_MCA_prte_default_hostfile": HOSTFILE,
            "PRTE_MCA_plm_ssh_args": _SSH_ARGS,
            "PRTE_MCA_prte_set_default_slots": slots,
        },
        Implementation.INTEL: {
            "I_MPI_HYDRA_HOST_FILE": HOSTFILE,
            "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": _SSH_ARGS,
            "I_MPI_PERHOST": slots,
        },
        Implementation.MPICH: {"HYDRA_HOST_FILE": HOSTFILE, "HYDRA_LAUNCH_EXTRA_ARGS": _SSH_ARGS},
    }
    return families[job.own.implementation]
