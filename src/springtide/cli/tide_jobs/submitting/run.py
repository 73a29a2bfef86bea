# SPDX-License-Identifier: Apache-2.0
"""`tide run -- python train.py`: an elastic job of this directory, without a manifest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import click

from springtide.cli import connecting, places, speaking
from springtide.cli.connecting import Target, cluster_options
from springtide.cli.errors import ExitCode, Failure
from springtide.cli.tide_jobs import options
from springtide.messages import text

_EPILOG = """\b
Examples:
  tide run -- python train.py
  tide run --workers 2 --min 1 --max 8 -- python train.py --epochs 3
  tide run --image registry.example.com/train:1 -- python /train.py"""


@click.command(epilog=_EPILOG)
@cluster_options
@click.option("--workers", type=click.IntRange(1), default=2, metavar="N", help="Workers to begin with.  [default: 2]")
@click.option("--min", type=click.IntRange(1), default=1, metavar="N", help="The fewest to train with.  [default: 1]")
@click.option("--max", type=click.IntRange(1), metavar="N", help="The most to grow to.  [default: 4, or --workers]")
@click.option("--name", default="", metavar="NAME", help="Name of the job.  [default: that of the directory]")
@click.option("--gpus", type=click.IntRange(0), default=0, metavar="N", help="GPUs of each worker, a rank for each.")
@click.option("--cpu", default="", metavar="QUANTITY", help="CPUs that each worker requests, such as 2 or 500m.")
@click.option("--memory", default="", metavar="QUANTITY", help="Memory that each worker requests, such as 4Gi.")
@click.option("--image", default="", metavar="IMAGE", help="Run in this image; needed on other clusters.")
@click.option("--environment", default="", metavar="NAME", help="Run in this environment of `tide env list`.")
@click.option(
    "-e",
    "--env",
    "variables",
    multiple=True,
    callback=options.variables,
    metavar="NAME=VALUE",
    help="A variable of the program.",
)
@click.option("-d", "--detach", is_flag=True, help="Do not follow the log.")
@options.yes_option
@click.argument(
    "command",
    nargs=-1,
    required=True,
    type=click.UNPROCESSED,
    metavar="-- PROGRAM...",
    help="The program and its arguments, after two dashes.",
)
def run(
    namespace: str, context: str, kubeconfig: str, command: tuple[str, ...], detach: bool, yes: bool, **asked: Any
) -> None:
    """Run a program as an elastic job, and follow its log.

    On the embedded cluster it runs in this directory, in the virtual environment that is active, or in .venv, or in one
    made from requirements.txt. Ctrl-C asks whether to detach from the job or to stop it.

    Exit code 0 if the job succeeds, 100 if it fails, 101 after detaching, 103 if it is stopped.
    """
    # Imported here because they are slow, and --help does not need them.
    from springtide.cli.jobs.changing.running import Asked  # noqa: PLC0415
    from springtide.cli.tide_jobs.submitting.run_job import run_job  # noqa: PLC0415

    target = _target(kubeconfig, context, namespace, yes=yes)
    asked["variables"] = dict(asked["variables"])
    run_job(target, Asked(command, **asked), Path.cwd(), detach=detach)


def _target(kubeconfig: str, context: str, namespace: str, *, yes: bool) -> Target:
    """Offers to start the embedded cluster where there is none at all."""
    try:
        return connecting.found(kubeconfig, context, namespace)
    except Failure as failure:
        nothing = not (kubeconfig or context or connecting.has_kubeconfig() or connecting.embedded_clusters())
        if not nothing or not (yes or _agreed()):
            raise
        _start_cluster(failure)
        return connecting.found(kubeconfig, context, namespace)


def _agreed() -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    question = text("There is no cluster yet. Start one on this machine with {command}?", command="tide up -d")
    click.echo(f"{speaking.shown(question)} [Y/n] ", nl=False, err=True)
    try:
        answer = sys.stdin.readline()
    except KeyboardInterrupt:
        click.echo(err=True)
        raise
    return answer.strip().lower() in ("", "y", "yes", "是") and answer.endswith("\n")


def _start_cluster(failure: Failure) -> None:
    speaking.note(text("Starting the embedded cluster …"))
    command = [sys.executable, "-P", "-m", "springtide.cli", "up", "-d"]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
    if ended.returncode != 0:
        failure.exit_code = int(ExitCode.ERROR)  # type: ignore[misc]  # click reads it from the instance
        raise failure
    speaking.note(text("The cluster runs; stop it with: {command}", command=f"{places.program()} down"))
