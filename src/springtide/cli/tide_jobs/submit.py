# SPDX-License-Identifier: Apache-2.0
"""`tide submit`: with `-f`, the objects of a manifest."""

from __future__ import annotations

import click

from springtide.cli.connecting import Target, on_cluster
from springtide.cli.tide_jobs import options
from springtide.cli.tide_jobs.manifest_output import DryRun, dry_run_options
from springtide.cli.tide_jobs.submit_file import submit_files


@click.command(
    epilog="""\b
Examples:
  tide submit -f job.yaml
  tide submit -f job.yaml --wait --timeout 2h
  tide submit -f job.yaml --dry-run=server -o yaml"""
)
@on_cluster()
@click.option("-f", "--filename", "files", multiple=True, required=True, metavar="FILE", help="A manifest; - is stdin.")
@dry_run_options
@click.option("--wait/--no-wait", default=False, help="Wait until its jobs have finished.")
@options.timeout_option("How long to wait at most; 2h, for example.  [default: without end]")
def submit(target: Target, files: tuple[str, ...], dry_run: DryRun, wait: bool, timeout: float) -> None:
    """Create the objects of a manifest, which may hold several.

    With --wait the exit code is 0 if its jobs succeed, 100 if one fails, 103 if one is deleted, 6 when the time is up,
    and 101 after Ctrl-C.
    """
    namespace = click.get_current_context().params.get("namespace") or ""
    submit_files(target, files, dry_run, namespace=namespace, wait=wait, timeout=timeout)
