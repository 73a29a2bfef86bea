# SPDX-License-Identifier: Apache-2.0
"""`tide down`: stop the embedded cluster. Objects stay on disk for the next `tide up`."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import click

from springtide.cli.options import directory, which_cluster

_WAIT = 30.0


@click.command()
@which_cluster
def down(name: str, data_dir: Path | None) -> None:
    """Stop the embedded cluster; its objects are kept."""
    place = directory(name, data_dir)
    if not place.is_running():
        click.echo(f"No cluster runs in {place.path}.")
        return
    last = place.last()
    if last is None:
        raise click.ClickException(
            f"{place.path} does not say which process runs the cluster; it may still be starting"
        )
    try:
        os.kill(last.pid, signal.SIGTERM)
    except ProcessLookupError:
        pass  # it ended by itself just now
    except PermissionError:
        raise click.ClickException(f"process {last.pid} belongs to another user") from None
    deadline = time.monotonic() + _WAIT
    while place.is_running():
        if time.monotonic() > deadline:
            raise click.ClickException(
                f"process {last.pid} has not stopped after {_WAIT:.0f} s\nEnd it with: kill -9 {last.pid}"
            )
        time.sleep(0.02)
    click.echo("The cluster is down. Its objects are kept; tide up brings them back.")
