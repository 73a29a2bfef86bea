# SPDX-License-Identifier: Apache-2.0
"""`tide wait JOB`: until it has finished, with an exit code that says how."""

from __future__ import annotations

import click

from springtide.cli.connecting import Target, on_cluster
from springtide.cli.jobs import finding
from springtide.cli.tide_jobs import options
from springtide.cli.tide_jobs.submitting.submit_file import wait_for


@click.command(epilog="Example: tide wait bert --timeout 2h && echo trained")
@on_cluster()
@options.job_argument
@options.type_option
@options.timeout_option("How long to wait at most; 2h, for example.  [default: without end]")
def wait(target: Target, name: str, type_: str, timeout: float) -> None:
    """Wait until a job has finished.

    Exit code 0 if it succeeds, 100 if it fails, 103 if it is deleted, 6 when the time is up, and 101 after Ctrl-C.
    """
    job = target.talk(lambda client: finding.find(client, target.namespace, name, type_))
    wait_for(target, [job], timeout)
