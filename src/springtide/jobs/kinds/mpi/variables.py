# SPDX-License-Identifier: Apache-2.0
"""The environment variables of MPI implementations in a launcher.

Open MPI 5 silently ignores the names of Open MPI 4 and runs on the launcher alone, so both families are set.
"""

from __future__ import annotations

from springtide.api.command_lines import launch_of
from springtide.api.defaults.mpijob import MPI
from springtide.api.job import Job
from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.mpijob import Implementation
from springtide.api.kinds.replicas import LAUNCHER
from springtide.jobs.parts import launcher_programs

HOSTFILE = "/etc/mpi/hostfile"
_SSH_ARGS = "-o ConnectionAttempts=10"


def of_launcher(job: Job[MPI]) -> dict[str, str]:
    """Variables that override the user's, as upstream does."""
    found = _over_ssh(job) if job.own.mode.attach is AttachMode.SSH else _over_exec()
    hidden = {} if job.own.launcher_is_host else {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""}
    return found | hidden


def if_unset(job: Job[MPI]) -> dict[str, str]:
    """Variables that the user's override."""
    patience = launcher_programs.patience(launch_of(job.roles[LAUNCHER].template))
    if job.own.mode.attach is AttachMode.SSH:
        return patience
    return patience | launcher_programs.AGENT_OF_OTHERS


def _over_exec() -> dict[str, str]:
    return {**launcher_programs.AGENT, **launcher_programs.default_hosts(HOSTFILE)}


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
