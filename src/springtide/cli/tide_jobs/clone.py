# SPDX-License-Identifier: Apache-2.0
"""`tide clone JOB NEW`: the same job again, under another name."""

from __future__ import annotations

import click

from springtide.api.names import label_complaints
from springtide.cli import speaking
from springtide.cli.connecting import Target, on_cluster
from springtide.cli.errors import ExitCode, Failure
from springtide.cli.jobs import finding
from springtide.cli.jobs.changing import creating
from springtide.cli.tide_jobs import options
from springtide.cli.tide_jobs.output.manifest_output import DryRun, dry_run_options, show_created
from springtide.kube.client import Client
from springtide.kube.resources import Obj
from springtide.manifests.copies import clean, renamed, unsuspended
from springtide.messages import text
from springtide.views import sizes


@click.command(epilog="Example: tide clone bert bert-large --workers 8")
@on_cluster()
@options.job_argument
@click.argument("new", metavar="NEW", help="Name of the copy.")
@options.type_option
@click.option("--workers", type=click.IntRange(1), metavar="N", help="Its number of workers.  [default: the same]")
@dry_run_options
def clone(target: Target, name: str, new: str, type_: str, workers: int | None, dry_run: DryRun) -> None:
    """Create a copy of a job under another name, and start it."""
    if complaints := label_complaints(new):
        why = text("{why}", why=complaints[0])
        raise Failure(text("{name} cannot be the name of a job.", name=new), why, code=ExitCode.USAGE)

    async def conversation(client: Client) -> None:
        job = await finding.find(client, target.namespace, name, type_)
        copy = unsuspended(renamed(clean(job.obj), new))
        if workers is not None:
            copy = _resized(copy, workers)
        if dry_run.by_client:
            dry_run.print_manifests([copy])
            return
        made = await creating.create(client, [copy], show_created(dry_run), dry_run=dry_run.by_server)
        dry_run.print_manifests([each.obj for each in made])

    target.talk(conversation)
    if not dry_run.by_client and not dry_run.by_server:
        speaking.note(text("Follow it: {command}", command=f"tide logs -f {new}"))


def _resized(copy: Obj, workers: int) -> Obj:
    """Failure for a size out of the bounds of the spec."""
    allowed, (outer, role) = sizes.bounds(copy), sizes.worker_field(copy)
    name = copy["metadata"]["name"]
    if not role:
        raise Failure(text("Job {name} has no workers.", name=name), code=ExitCode.USAGE)
    if not allowed.holds(workers):
        raise Failure(
            text("Job {name} cannot have {size} workers.", name=name, size=workers),
            text("its spec allows {range}", range=allowed.range),
            code=ExitCode.USAGE,
        )
    copy["spec"][outer][role]["replicas"] = workers
    return copy
