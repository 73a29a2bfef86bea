# SPDX-License-Identifier: Apache-2.0
"""What TAB offers: commands, flags, values of flags, and the names of jobs and instances.

One line per value, with its description behind a tab. A cluster that does not answer in time offers no names; nothing
here fails or prints anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from springtide.cli.arena import command_tree
from springtide.cli.arena.command_tree import GLOBAL_FLAGS, Branch, Verb
from springtide.cli.arena.errors import ArenaError
from springtide.cli.arena.log_lines import Log
from springtide.cli.arena.session import Session
from springtide.cli.arena.verbs.completion import SCRIPTS
from springtide.cli.completion.words import is_plain
from springtide.cli.errors import Failure
from springtide.cli.flags import pflag
from springtide.cli.flags.pflag import Flag, Kind, Parsed
from springtide.cli.jobs import finding
from springtide.kube.client import Client
from springtide.kube.resources import NAMESPACES, NODES
from springtide.views.jobs import job_view
from springtide.views.trainers import TRAINERS, of_job

_VALUES: Final = {
    "type": [trainer.name for trainer in TRAINERS],
    "output": ["wide", "json", "yaml"],
    "loglevel": ["debug", "info", "warn", "error"],
    "sync-mode": ["git", "rsync"],
    "shell": ["sh", "bash"],
    "image-pull-policy": ["Always", "IfNotPresent", "Never"],
    "clean-task-policy": ["None", "Running", "All"],
    "success-policy": ["ChiefWorker", "AllWorkers"],
    "gpu-mode": ["none", "exclusive", "share", "topology"],
}
_TAKE_JOBS: Final = frozenset({"get", "delete", "logs", "attach", "job"})
_SCALED: Final = frozenset({"scaleout", "scalein"})


def complete(root: Branch, words: Sequence[str]) -> None:
    """`words` are those of the command line without the program, the last one unfinished."""
    *before, last = words or [""]
    for value in _offered(root, before, last):
        print(value)


def _offered(root: Branch, before: Sequence[str], last: str) -> Iterator[str]:
    found = command_tree.located(root, before)
    verb = found.branch.verb() if found.branch.entry else Verb((), lambda session, line: None)
    flags = (*GLOBAL_FLAGS, *verb.flags)
    name, equals, begun = last.partition("=")
    if equals and name.startswith("--"):
        flag = next((each for each in flags if f"--{each.name}" == name), None)
        yield from (f"{name}={value}" for value in _starting(begun, _values(found.path, flags, found.words, flag)))
    elif (waiting := _unfinished(flags, before)) is not None:
        yield from _starting(last, _values(found.path, flags, found.words, waiting))
    elif last.startswith("-"):
        yield from (f"--{each.name}\t{each.help}" for each in flags if f"--{each.name}".startswith(last))
    elif found.branch.commands:
        yield from (f"{each.name}\t{each.help}" for each in found.branch.commands if each.name.startswith(last))
    else:
        yield from _starting(last, _arguments(found.path, flags, found.words))


def _starting(begun: str, values: Iterable[str]) -> list[str]:
    return [value for value in values if value.startswith(begun)]


def _unfinished(flags: Sequence[Flag], before: Sequence[str]) -> Flag | None:
    """The flag whose value is the next word."""
    if not before:
        return None
    word = before[-1]
    for flag in flags:
        if word == f"--{flag.name}" or (flag.short and word == f"-{flag.short}"):
            return None if flag.kind is Kind.BOOL else flag
    return None


def _values(path: Sequence[Branch], flags: Sequence[Flag], words: Sequence[str], flag: Flag | None) -> list[str]:
    if flag is None:
        return []
    if flag.name in _VALUES:
        return _VALUES[flag.name]
    if flag.name == "namespace":
        return _asked(flags, words, lambda client, line, session: _names(client, NAMESPACES))
    if flag.name == "name" and path[1].name in _SCALED:
        return _asked(flags, words, lambda client, line, session: _jobs(client, session, line, scaled=True))
    if flag.name == "instance":
        return _asked(flags, words, _instances)
    return []


def _arguments(path: Sequence[Branch], flags: Sequence[Flag], words: Sequence[str]) -> list[str]:
    name = path[-1].name
    if name == "completion":
        return list(SCRIPTS)
    if name == "node":
        return _asked(flags, words, lambda client, line, session: _names(client, NODES))
    if name in _TAKE_JOBS:
        return _asked(flags, words, lambda client, line, session: _jobs(client, session, line))
    return []


def _asked(flags: Sequence[Flag], words: Sequence[str], ask: Any) -> list[str]:
    try:
        line = pflag.parsed(flags, _whole(flags, words))
        session = Session(line.values, Log())
        found: list[str] = session.talk(lambda client: ask(client, line, session))
    except (pflag.FlagError, pflag.HelpWanted, ArenaError, Failure):
        return []
    return sorted(filter(is_plain, found))


def _whole(flags: Sequence[Flag], words: Sequence[str]) -> Sequence[str]:
    """Without a flag at the end that has no value yet."""
    return words[:-1] if _unfinished(flags, words) else words


async def _names(client: Client, resource: Any) -> list[str]:
    return [str(each["metadata"]["name"]) for each in (await client.list(resource)).items]


async def _jobs(client: Client, session: Session, line: Parsed, *, scaled: bool = False) -> list[str]:
    type_ = line.values.get("type", "")
    found = await finding.all_jobs(client, session.namespace, type_)
    return [job.name for job in found if job.name not in line.arguments and (not scaled or of_job(job.obj).scales)]


async def _instances(client: Client, line: Parsed, session: Session) -> list[str]:
    if not line.arguments:
        return []
    job = await finding.find(client, session.namespace, line.arguments[0], line.values.get("type", ""))
    return [each.name for each in job_view(job.obj, await finding.pods(client, job)).instances]
