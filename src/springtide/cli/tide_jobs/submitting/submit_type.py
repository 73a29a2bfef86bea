# SPDX-License-Identifier: Apache-2.0
"""`tide submit etjob` and the like: Arena's flags, in Arena's syntax, and the options of `tide`.

click shows and completes the flags; their values are read as in Arena, so that every command line of Arena works.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from springtide.cli import help_pages, speaking
from springtide.cli.completion import job_names
from springtide.cli.errors import ExitCode, Failure
from springtide.cli.flags import pflag
from springtide.cli.flags.pflag import Flag, FlagError, HelpWanted, Kind, Parsed
from springtide.cli.flags.tables import COMMON, FLAGS
from springtide.manifests.submissions.submission import DeepSpeedJob, EtJob, MpiJob, PyTorchJob, Submission, TfJob
from springtide.messages import Text, text

_KINDS: Final[dict[str, type[Submission]]] = {
    "etjob": EtJob,
    "mpijob": MpiJob,
    "tfjob": TfJob,
    "pytorchjob": PyTorchJob,
    "deepspeedjob": DeepSpeedJob,
}
_CHOICES: Final = {"dry-run": ("none", "client", "server"), "output": ("yaml", "json", "name")}
OWN: Final = (
    Flag("namespace", Kind.STRING, "The namespace.  [default: the context's]", short="n"),
    Flag("context", Kind.STRING, "The context in the kubeconfig."),
    Flag("kubeconfig", Kind.STRING, "The kubeconfig file of the cluster."),
    Flag("dry-run", Kind.STRING, "Create nothing: print what would be sent (client), or stored (server).",
         default="none"),
    Flag("output", Kind.STRING, "How to print the objects: yaml, json or name.", short="o"),
    Flag("wait", Kind.BOOL, "Wait until the job has finished."),
    Flag("timeout", Kind.DURATION, "How long to wait at most; 2h, for example.  [default: without end]"),
)  # fmt: skip
_COMPLETERS: Final = {
    "namespace": job_names.namespaces,
    "context": job_names.contexts,
    "kubeconfig": job_names.files,
    "config-file": job_names.files,
}
_VALUES: Final = {
    **_CHOICES,
    "sync-mode": ("git", "rsync"),
    "shell": ("sh", "bash"),
    "image-pull-policy": ("Always", "IfNotPresent", "Never"),
    "clean-task-policy": ("None", "Running", "All"),
    "success-policy": ("ChiefWorker", "AllWorkers"),
}


def command_of(name: str) -> click.Command:
    flags = FLAGS[_KINDS[name]]

    def run(line: Parsed) -> None:
        # Imported here because --help does not need it.
        from springtide.cli.tide_jobs.submitting.submit_flags import submit  # noqa: PLC0415

        submit(_KINDS[name], name, line)

    return _Typed(name, flags, run)


class _Typed(click.Command):
    context_class = help_pages.Context

    def __init__(self, name: str, flags: Sequence[Flag], run: Any) -> None:
        self._flags = (*flags, *OWN)
        params = [_option(flag) for flag in self._flags]
        first = speaking.shown(text("Create a job of type {type}, as `arena submit {type}` does.", type=name))
        about = f"{first}\n\n{_COMMAND_HELP}"
        command = click.Argument(["line"], nargs=-1, metavar="COMMAND", help="What the job runs.")
        super().__init__(name, callback=run, params=[*params, command], help=about, epilog=_EPILOG.format(name=name))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        try:
            line = pflag.parsed(self._flags, args)
        except HelpWanted:
            click.echo(ctx.get_help())
            ctx.exit()
        except FlagError as error:
            raise self._explained(str(error)) from None
        for flag in self._flags:
            if flag.required and flag.name not in line.given:
                raise _wrong(text("--{flag} is missing.", flag=flag.name))
        for name, choices in _CHOICES.items():
            if line.values[name] and line.values[name] not in choices:
                raise _wrong(text("--{flag} is one of {choices}.", flag=name, choices=", ".join(choices)))
        if not line.arguments:
            hint = text("write it at the end: {example}", example=f'{ctx.command_path} --name NAME "python train.py"')
            raise Failure(text("The command is missing that the job is to run."), hint=hint, code=ExitCode.USAGE)
        for old, new in line.renamed:
            speaking.note(text("--{old} is an old name of --{new}.", old=old, new=new))
        ctx.params = {"line": line}
        return []

    def _explained(self, error: str) -> Failure:
        start, _, unknown = error.partition("unknown flag: ")
        if start:
            cause = text("{why}", why=error)
            return Failure(text("The flags cannot be read."), cause, code=ExitCode.USAGE)
        similar = difflib.get_close_matches(unknown, [f"--{flag.name}" for flag in self._flags], 1)
        what = text("There is no flag {flag}.", flag=unknown)
        if similar:
            return Failure(what, hint=text("did you mean {name}?", name=similar[0]), code=ExitCode.USAGE)
        hint = text("if it is of the job's command, write that in quotes, or after --")
        return Failure(what, hint=hint, code=ExitCode.USAGE)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        common, own = {flag.name for flag in COMMON}, {flag.name for flag in OWN}
        records: dict[str, list[tuple[str, str]]] = {
            "Flags of all types": [],
            speaking.shown(text("Flags of {type}", type=self.name)): [],
            "Options": [],
        }
        for flag, param in zip(self._flags, self.params, strict=False):
            record = param.get_help_record(ctx)
            section = 0 if flag.name in common else 2 if flag.name in own else 1
            if record is not None:
                list(records.values())[section].append(record)
        for title, rows in records.items():
            with formatter.section(title):
                formatter.write_dl(rows)


def _wrong(what: Text) -> Failure:
    return Failure(what, code=ExitCode.USAGE)


def _option(flag: Flag) -> click.Option:
    names = [flag.name.replace("-", "_").lower(), *([f"-{flag.short}"] if flag.short else []), f"--{flag.name}"]
    shown = replace(flag, help=flag.help[:1].upper() + flag.help[1:])
    default = f"  [default: {flag.default}]" if flag.default not in (None, "none") else ""
    required = "  [required]" if flag.required else ""
    return click.Option(
        names,
        is_flag=flag.kind is Kind.BOOL,
        multiple=flag.kind is Kind.STRINGS,
        metavar=None if flag.kind is Kind.BOOL else _METAVARS[flag.kind],
        help=f"{shown.help}{default}{required}",
        shell_complete=_COMPLETERS.get(flag.name) or _values(_VALUES.get(flag.name, ())),
    )


def _values(choices: Sequence[str]) -> Any:
    def offered(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(each) for each in choices if each.startswith(incomplete)]

    return offered


_METAVARS: Final = {Kind.STRING: "TEXT", Kind.INT: "N", Kind.DURATION: "SPAN", Kind.STRINGS: "TEXT"}
_COMMAND_HELP: Final = """\
COMMAND in one word, in quotes, is a line for the shell of the container. Several words, best after --, are a program
and its arguments. Flags may stand anywhere before --."""
_EPILOG: Final = """\b
Examples:
  tide submit {name} --name bert --workers 2 --gpus 1 --image bert:1 "python train.py"
  tide submit {name} --name bert --dry-run=client -o yaml -- python train.py --epochs 3"""
