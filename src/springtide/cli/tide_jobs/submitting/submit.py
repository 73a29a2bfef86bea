# SPDX-License-Identifier: Apache-2.0
"""`tide submit`: with `-f` the objects of a manifest, or a job of a type, described by Arena's flags."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, Final

import click

from springtide.cli import connecting
from springtide.cli.connecting import cluster_options
from springtide.cli.errors import ExitCode, Failure
from springtide.cli.tide_jobs import options
from springtide.cli.tide_jobs.output.manifest_output import DryRun, dry_run_options
from springtide.messages import text

TYPES: Final = {
    "etjob": (("et",), "An elastic job of Horovod: workers come and go while it trains."),
    "mpijob": (("mpi", "mj"), "A job of MPI: a launcher and workers."),
    "tfjob": (("tf",), "A job of TensorFlow: workers, parameter servers, a chief."),
    "pytorchjob": (("pytorch", "py"), "A job of PyTorch: a master and workers."),
    "deepspeedjob": (("deepspeed", "dp"), "A job of DeepSpeed: a launcher and workers."),
}
"""With the other names of each, which are Arena's. Not read from the trainers: --help must be quick."""


class _Submit(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(TYPES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = _type_of(cmd_name)
        if name is None:
            return None
        # Imported here because a manifest needs none of the flags.
        from springtide.cli.tide_jobs.submitting.submit_type import command_of  # noqa: PLC0415

        return command_of(name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not ctx.resilient_parsing and Path(args[0]).suffix in (".yaml", ".yml", ".json"):
            hint = text("submit a manifest with: {command}", command=f"tide submit -f {args[0]}")
            raise Failure(text("{word} is no type of jobs.", word=args[0]), hint=hint, code=ExitCode.USAGE)
        if not ctx.resilient_parsing and not args[0].startswith("-") and _type_of(args[0]) is None:
            raise _no_type(args[0])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Types of jobs"):
            formatter.write_dl([(name, help_) for name, (_, help_) in TYPES.items()])


def _type_of(word: str) -> str | None:
    return next((name for name, (others, _) in TYPES.items() if word in (name, *others)), None)


def _no_type(word: str) -> Failure:
    similar = difflib.get_close_matches(word, TYPES, 1)
    types = text("types are: {types}", types=", ".join(TYPES))
    hint = text("did you mean {name}?", name=similar[0]) if similar else types
    return Failure(text("There is no type of jobs {type}.", type=word), hint=hint, code=ExitCode.USAGE)


@click.command(
    cls=_Submit,
    invoke_without_command=True,
    subcommand_metavar="[TYPE [FLAGS] COMMAND]",
    epilog="""\b
Examples:
  tide submit -f job.yaml
  tide submit -f job.yaml --wait --timeout 2h
  tide submit -f job.yaml --dry-run=server -o yaml
  tide submit etjob --name bert --workers 2 "horovodrun python train.py"
  tide submit pytorchjob --help""",
)
@cluster_options
@options.files_option(required=False)
@dry_run_options
@click.option("--wait/--no-wait", default=False, help="Wait until its jobs have finished.")
@options.timeout_option("How long to wait at most; 2h, for example.  [default: without end]")
def submit(files: tuple[str, ...], dry_run: DryRun, wait: bool, timeout: float, **where: Any) -> None:
    """Create the objects of a manifest, which may hold several, or a job that flags describe.

    With --wait the exit code is 0 if its jobs succeed, 100 if one fails, 103 if one is deleted, 6 when the time is up,
    and 101 after Ctrl-C.
    """
    ctx = click.get_current_context()
    if ctx.invoked_subcommand is not None:
        _check_place(ctx)
        return
    if not files:
        raise Failure(
            text("Nothing is named that is to be submitted."),
            hint=text(
                "a manifest: {manifest}; a job by flags: {flags}",
                manifest="tide submit -f FILE",
                flags="tide submit etjob --help",
            ),
            code=ExitCode.USAGE,
        )
    # Imported here because --help does not need it, and flags neither.
    from springtide.cli.tide_jobs.submitting.submit_file import submit_files  # noqa: PLC0415

    target = connecting.found(where["kubeconfig"], where["context"], where["namespace"])
    submit_files(target, files, dry_run, namespace=where["namespace"], wait=wait, timeout=timeout)


def _check_place(ctx: click.Context) -> None:
    """Failure for options before the type, which would have no effect."""
    given = [each.opts[-1] for each in ctx.command.params if each.name != "dry_run" and ctx.params.get(each.name or "")]
    if given or ctx.params.get("dry_run") not in (None, "none"):
        kind = ctx.invoked_subcommand
        raise Failure(
            text("Options of {type} stand after it.", type=kind),
            hint=text("write: {command}", command=f"tide submit {kind} [FLAGS] COMMAND"),
            code=ExitCode.USAGE,
        )
