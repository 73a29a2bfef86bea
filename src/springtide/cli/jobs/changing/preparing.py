# SPDX-License-Identifier: Apache-2.0
"""What is done with a submission before its objects are written: what the cluster has to say, and the plan."""

from __future__ import annotations

from dataclasses import replace

from springtide.cli.errors import ExitCode, Failure
from springtide.cli.jobs.changing.submitting import Plan
from springtide.cli.jobs.embedded import is_embedded
from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.resources import PODS, PRIORITYCLASSES, SERVICES, Key
from springtide.manifests import rendering
from springtide.manifests.parts import role_ports
from springtide.manifests.submissions.submission import Submission, TfJob
from springtide.messages import text
from springtide.views.trainers import Trainer


class UnknownPriority(Failure):
    def __init__(self, name: str) -> None:
        hint = text("the priorities there are: {command}", command="kubectl get priorityclasses")
        super().__init__(text("There is no priority {name}.", name=name), hint=hint, code=ExitCode.USAGE)
        self.name = name


async def planned(client: Client, trainer: Trainer, wanted: Submission, *, isolated: bool) -> Plan:
    """UnknownPriority."""
    if isinstance(wanted, TfJob):
        wanted = await _with_ports(client, wanted)
    if wanted.priority and await client.find(PRIORITYCLASSES, Key("", wanted.priority)) is None:
        raise UnknownPriority(wanted.priority)
    if wanted.tensorboard is not None and await is_embedded(client):
        # Its nodes' directories are this machine's, and not to be written to: the logs are on a claim of the job's own.
        wanted = replace(wanted, tensorboard=replace(wanted.tensorboard, host_directory=""))
    objects = rendering.render(wanted)
    return Plan(trainer, rendering.kept_beside(wanted, objects, isolated), objects)


async def _with_ports(client: Client, job: TfJob) -> TfJob:
    """Ports that nothing on the hosts uses; without the right to look, the operator's."""
    try:
        pods, services = (await client.list(PODS)).items, (await client.list(SERVICES)).items
    except errors.Forbidden:
        return job
    return role_ports.chosen(job, role_ports.used(pods, services))
