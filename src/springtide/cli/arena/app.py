# SPDX-License-Identifier: Apache-2.0
"""`arena`, the command line of Arena v0.15.5. Command modules are imported when they run, so that it starts quickly."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Sequence
from typing import Final

from springtide.cli import last_resort, standard_streams
from springtide.cli.arena import command_tree, suggesting, usage
from springtide.cli.arena.command_tree import GLOBAL_FLAGS, Branch, Located, Verb
from springtide.cli.arena.errors import ArenaError, Listed
from springtide.cli.arena.log_lines import Log
from springtide.cli.flags import pflag
from springtide.cli.flags.pflag import Parsed
from springtide.messages.terminals import harmless

_HERE: Final = "springtide.cli.arena.verbs"
_OK, _ERROR, _INTERRUPTED = 0, 1, 130


def _instead(name: str, help_text: str, aliases: Sequence[str] = ()) -> Branch:
    return Branch(name, help_text, f"{_HERE}.instead:{name.upper()}", tuple(aliases))


ROOT: Final = Branch(
    "arena",
    "arena is the command line interface to Arena, here of Springtide",
    commands=(
        Branch("attach", "Run a command, or a shell, in a job's instance", f"{_HERE}.attach:ATTACH",
               arguments="JOB [-i INSTANCE] [-c CONTAINER]"),
        Branch("completion", "Print the script that completes arena by TAB (bash, zsh or fish)",
               f"{_HERE}.completion:COMPLETION", arguments="SHELL"),
        _instead("cron", "Jobs on a schedule: not here; says what to use instead"),
        Branch("data", "Show data volumes", commands=(
            Branch("list", "List the data volumes", f"{_HERE}.data:LIST", ("ls",)),
        )),
        Branch("delete", "Delete jobs with everything that was made for them", f"{_HERE}.delete:DELETE", ("del",),
               "JOB1 JOB2 ...JOBn [-T JOB_TYPE]"),
        _instead("evaluate", "Evaluation of models: not here; says what to use instead"),
        Branch("get", "Show a job and its instances", f"{_HERE}.get:GET", arguments="JOB [-T JOB_TYPE]"),
        Branch("list", "List the jobs", f"{_HERE}.list_jobs:LIST", ("ls",)),
        _instead("llm", "Serving of language models: not here; says what to use instead"),
        Branch("logs", "Print the log of a job's instance", f"{_HERE}.logs:LOGS", ("log",), "JOB [-T JOB_TYPE]"),
        _instead("logviewer", "Log pages of old dashboards: not here; says what to use instead"),
        _instead("model", "Registered models: not here; says what to use instead"),
        Branch("prune", "Delete old jobs that do not run", f"{_HERE}.prune:PRUNE"),
        Branch("scalein", "Take workers from an elastic job", commands=(
            Branch("etjob", "Take workers from an etjob", f"{_HERE}.scale:SCALE_IN", ("et",)),
        )),
        Branch("scaleout", "Add workers to an elastic job", commands=(
            Branch("etjob", "Add workers to an etjob", f"{_HERE}.scale:SCALE_OUT", ("et",)),
        )),
        _instead("serve", "Serving of models: not here; says what to use instead"),
        Branch("submit", "Submit a job", commands=(
            Branch("deepspeedjob", "Submit a DeepSpeed job", f"{_HERE}.submit:DEEPSPEEDJOB",
                   ("deepspeed", "dp"), '"COMMAND"'),
            Branch("etjob", "Submit an elastic Horovod job", f"{_HERE}.submit:ETJOB", ("et",), '"COMMAND"'),
            Branch("mpijob", "Submit an MPIJob", f"{_HERE}.submit:MPIJOB", ("mpi", "mj"), '"COMMAND"'),
            Branch("pytorchjob", "Submit a PyTorchJob", f"{_HERE}.submit:PYTORCHJOB", ("pytorch",), '"COMMAND"'),
            *(_instead(name, f"Jobs of {system}: not here; says what to use instead", aliases)
              for name, system, *aliases in (("horovodjob", "Horovod", "hj"), ("rayjob", "Ray", "rj"),
                                             ("sparkjob", "Spark", "spark"), ("volcanojob", "Volcano", "vj"))),
            Branch("tfjob", "Submit a TFJob", f"{_HERE}.submit:TFJOB", ("tf",), '"COMMAND"'),
        )),
        Branch("top", "Show the use of GPUs", commands=(
            Branch("job", "Show the GPUs of jobs", f"{_HERE}.top:JOB", arguments="[JOB]"),
            Branch("node", "Show the GPUs of nodes", f"{_HERE}.top:NODE", arguments="[NODE...]"),
        )),
        Branch("version", "Print the version", f"{_HERE}.version:VERSION"),
        Branch("whoami", "Show who you are to the cluster", f"{_HERE}.whoami:WHOAMI"),
    ),
)  # fmt: skip


def main() -> None:
    sys.excepthook = functools.partial(last_resort.explain, program="arena", lang="en")
    standard_streams.prepare()
    sys.exit(_guarded(sys.argv[1:]))


def _guarded(words: Sequence[str]) -> int:
    log = Log()
    try:
        run(words, log)
        sys.stdout.flush()
    except Listed as error:
        print(harmless(str(error)))
    except (ArenaError, pflag.FlagError) as error:
        log.error(str(error))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python fails again when it exits
    else:
        return _OK
    return _ERROR


def run(words: Sequence[str], log: Log) -> None:
    _check_encoding(words)
    if words[:1] == ["__complete"]:
        # Imported here because it is only needed when TAB is pressed.
        from springtide.cli.arena.completing import complete  # noqa: PLC0415

        complete(ROOT, words[1:])
        return
    if command_tree.first_argument(words) == "help":
        words = [*(word for word in words if word != "help"), "--help"]
    found = command_tree.located(ROOT, words)
    if found.branch is ROOT and (name := command_tree.first_argument(found.words)):
        raise ArenaError(_unknown(name))
    verb = found.branch.verb() if found.branch.entry else Verb((), lambda session, line: None)
    flags = (*GLOBAL_FLAGS, *verb.flags)
    try:
        line = pflag.parsed(flags, () if verb.takes_anything else found.words)
    except pflag.HelpWanted:
        _help(found, verb)
        return
    for warning in line.warnings:
        print(harmless(warning), file=sys.stderr)
    if not found.branch.entry:
        _help(found, verb)
        return
    pflag.check_required(verb.flags, line)
    if verb.needs_arguments and not line.arguments:
        _help(found, verb)
        raise ArenaError(verb.needs_arguments)
    _run(verb, line, log)


def _check_encoding(words: Sequence[str]) -> None:
    try:
        "".join(words).encode()
    except UnicodeEncodeError:
        raise ArenaError("the command line has bytes that are not UTF-8, which no object can hold") from None


def _run(verb: Verb, line: Parsed, log: Log) -> None:
    # Imported here because help needs none of this.
    from springtide.cli.arena.session import Session, in_one_line  # noqa: PLC0415
    from springtide.cli.errors import Failure  # noqa: PLC0415

    try:
        verb.run(Session(line.values, log), line)
    except Failure as failure:
        raise ArenaError(in_one_line(failure)) from None


def _help(found: Located, verb: Verb) -> None:
    print(usage.shown(found.path, verb.flags), end="")


def _unknown(name: str) -> str:
    meant = suggesting.meant(name, (branch.name for branch in ROOT.commands))
    hint = "".join(f"\t{each}\n" for each in meant)
    return f'unknown command "{name}" for "arena"' + (f"\n\nDid you mean this?\n{hint}" if hint else "")
