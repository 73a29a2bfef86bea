# SPDX-License-Identifier: Apache-2.0
"""What users can do about a launcher that ended for a known cause.

Open MPI 5 accepts long options with two dashes only. It reads `-bind-to` as a group of short options and the next
argument as the program, or rejects the option under a name that the user did not write.
"""

from __future__ import annotations

import re
import shlex
from typing import Any, Final

from springtide.api.command_lines import Launch, launch_of, single_dashed
from springtide.api.job import Job
from springtide.api.kinds.replicas import LAUNCHER, WORKER
from springtide.jobs.observed import Exit

_REFUSALS: Final = (
    "An unrecognized option was included on the mpirun command line",
    "prterun was unable to find the specified executable file",
)


_EDL_HOSTFILE: Final = "/etc/edl/hostfile"
_HOST_WITH_SLOTS: Final = re.compile(r"-worker-\d+:\d")
"""A line of that file, which Open MPI takes for a host's name."""
_NOT_FOUND: Final = 127
"""The exit code of a shell that does not find a program."""
_TOO_FEW: Final = (
    "There are not enough slots available in the system",
    "than there are available slots",
    "takes more slots than there are",
)
"""Messages of Open MPI, horovodrun and tiderun."""


def on(job: Job[Any], slots_per_worker: int, ended: Exit) -> str:
    """The advice; empty if the cause is unknown."""
    if any(refusal in ended.message for refusal in _TOO_FEW):
        return _too_few_slots(job, slots_per_worker)
    launch = launch_of(job.roles[LAUNCHER].template)
    if launch is not None and _is_absent(launch, ended):
        return _absent(job, launch)
    if launch is not None and launch.hostfile == _EDL_HOSTFILE and _HOST_WITH_SLOTS.search(ended.message):
        return (
            f"{launch.program} cannot read {_EDL_HOSTFILE}, whose lines are HOST:SLOTS: name /job/hostfile in its "
            "place, or no host file at all, which means the same"
        )
    refused = any(refusal in ended.message for refusal in _REFUSALS)
    options = single_dashed(job.roles[LAUNCHER].template) if refused else ()
    if not options:
        return ""
    written, meant = (", ".join(f"{dashes}{name}" for name in options) for dashes in ("-", "--"))
    return (
        f"Open MPI 5 does not understand {written}: write {meant}, or use an image with Open MPI 4, which takes either"
    )


def _too_few_slots(job: Job[Any], slots_per_worker: int) -> str:
    launch, role = launch_of(job.roles[LAUNCHER].template), job.roles.get(WORKER)
    program, workers = launch.program if launch else "The launcher", role.replicas if role else 0
    return (
        f"{program} was asked for more processes than its hosts have slots: {workers} workers, with "
        f"{slots_per_worker} each, are asked for; ask for more workers, raise spec.slotsPerWorker, or lower "
        "the number of processes in the launcher's command"
    )


def _is_absent(launch: Launch, ended: Exit) -> bool:
    said = (f"{launch.program}: {words}" for words in ("not found", "command not found"))
    return ended.code == _NOT_FOUND and any(words in ended.message for words in said)


def _absent(job: Job[Any], launch: Launch) -> str:
    """A shell that runs says nothing about the image: on the embedded cluster, any machine has one."""
    image = str(job.roles[LAUNCHER].template["spec"]["containers"][0].get("image") or "")
    folder, slash, last = image.partition("@")[0].rpartition("/")
    name = last.partition(":")[0]
    pattern = shlex.quote(f"{folder}{slash}{name}")
    create = f"tide env create {shlex.quote(name)} --preset horovod --image {pattern}"
    return (
        f"the launcher's image {image} has no {launch.program}; on the embedded cluster, where environments "
        f"stand in for images: {create}, then delete the job and create it again"
    )
