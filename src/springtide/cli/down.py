# SPDX-License-Identifier: Apache-2.0
"""`tide down`: stop the embedded cluster. Objects stay on disk for the next `tide up`."""

from __future__ import annotations

import os
import signal
import time

import click

from springtide.cli.options import Chosen, which_cluster

_WAIT = 30.0


@click.command()
@which_cluster
def down(cluster: Chosen) -> None:
    """Stop the embedded cluster; its objects are kept.

    Returns when it has stopped. To get rid of the objects as well, remove the data directory that `tide status` names.
    """
    if not cluster.is_running():
        click.echo(f"Cluster {cluster.name!r} {cluster.state()}.")
        return
    process = _asked_to_stop(cluster)
    deadline = time.monotonic() + _WAIT
    while cluster.is_running():
        if time.monotonic() > deadline:
            raise click.ClickException(
                f"process {process} has not stopped after {_WAIT:.0f} s\nEnd it with: kill -9 {process}\n"
                "Everything that was acknowledged is on disk."
            )
        time.sleep(0.02)
    click.echo(f"Cluster {cluster.name!r} is down. Its objects are kept: tide up{cluster.flags} brings them back.")


def _asked_to_stop(cluster: Chosen) -> int | None:
    """The process number in the lock is good as long as the lock is held: no stranger is ever hit."""
    deadline = time.monotonic() + 1
    while (process := cluster.place.process()) is None and cluster.is_running() and time.monotonic() < deadline:
        time.sleep(0.01)
    if process is not None:
        try:
            os.kill(process, signal.SIGTERM)
        except ProcessLookupError:
            pass  # it ended by itself just now
        except PermissionError:
            raise click.ClickException(f"process {process} belongs to another user") from None
    return process
