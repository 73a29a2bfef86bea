# SPDX-License-Identifier: Apache-2.0
"""`tide delete JOB …`: jobs with what was made for them. `tide delete --cluster` deletes an embedded cluster.

A cluster is only deleted by that option, so that a forgotten job's name costs nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from springtide.cli import connecting
from springtide.cli.connecting import Target, cluster_options
from springtide.cli.errors import ExitCode, Failure
from springtide.cli.options import cluster_choice, usable
from springtide.cli.tide_jobs import options
from springtide.messages import Text, text

_OF_JOBS = ("type_", "namespace", "context", "kubeconfig")
_OF_CLUSTERS = ("name", "data_dir", "force")


@click.command(
    epilog="""\b
Examples:
  tide delete bert
  tide delete bert gpt -n vision --yes
  tide delete --cluster                  the embedded cluster, for good
  tide delete --cluster --name second""",
)
@options.job_arguments
@options.type_option
@cluster_options
@click.option("--cluster", is_flag=True, help="Delete an embedded cluster of this machine.")
@cluster_choice
@click.option("--force", is_flag=True, help="With --cluster: stop it first if it runs; its pods are killed.")
@options.yes_option
def delete(names: tuple[str, ...], cluster: bool, yes: bool, **given: Any) -> None:
    """Delete jobs, with their pods and everything that was made for them.

    On a terminal it asks before it deletes a job that has not finished. With --cluster it deletes an embedded cluster:
    its objects, logs, volumes and keys, and its context in your kubeconfig. Files in its directory that are not the
    cluster's are left alone. Environments belong to all clusters and stay.
    """
    ctx = click.get_current_context()
    if cluster:
        if wrong := [*names, *_given(ctx, _OF_JOBS)]:
            what = text("{options} is about jobs, and {option} is not.", options=", ".join(wrong), option="--cluster")
            raise Failure(what, hint=_both_ways(ctx), code=ExitCode.USAGE)
        _delete_cluster(given["name"], given["data_dir"], yes=yes, force=given["force"])
        return
    if wrong := _given(ctx, _OF_CLUSTERS):
        what = text("{options} is about an embedded cluster, not about jobs.", options=", ".join(wrong))
        raise Failure(what, hint=_both_ways(ctx), code=ExitCode.USAGE)
    if not names:
        raise Failure(text("Nothing is named that is to be deleted."), hint=_both_ways(ctx), code=ExitCode.USAGE)
    # Imported here because a cluster is deleted without it.
    from springtide.cli.tide_jobs.delete_jobs import delete_jobs  # noqa: PLC0415

    target: Target = connecting.found(given["kubeconfig"], given["context"], given["namespace"])
    ctx.exit(delete_jobs(target, names, given["type_"], yes=yes))


def _both_ways(ctx: click.Context) -> Text:
    return text(
        "a job: {job}; an embedded cluster with everything in it: {cluster}",
        job=f"{ctx.command_path} JOB",
        cluster=f"{ctx.command_path} --cluster",
    )


def _given(ctx: click.Context, names: tuple[str, ...]) -> list[str]:
    """Those of the options that the user has given, as he types them."""
    return [each.opts[-1] for each in ctx.command.params if each.name in names and ctx.params[each.name]]


def _delete_cluster(name: str | None, data_dir: Path | None, *, yes: bool, force: bool) -> None:
    # Imported here because most deletions are of jobs.
    from springtide.cli.cluster.delete import delete as delete_cluster  # noqa: PLC0415

    delete_cluster(usable(name, data_dir), yes=yes, force=force)
