# SPDX-License-Identifier: Apache-2.0
"""Parses a launcher's command line for the number of processes: `-np`, `--min-np`, `--max-np` and the like.

Only options of the launching program itself count, those before the name of the program it starts: a training script
may have a `--min-np` of its own. To find their end one must know which options take a value, so there is a table for
horovodrun, whose options tiderun accepts too, and one for mpirun of either family. Programs are found inside `sh -c`
and behind `env`, `exec` and the like, with variables expanded as far as the container defines them. A command line that
cannot be parsed is ignored.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import PurePosixPath
from typing import Any, Final

from springtide.api import whole_numbers
from springtide.api.kinds.templates import Container, containers

HOROVODRUN: Final = "horovodrun"
TIDERUN: Final = "tiderun"


@dataclass(frozen=True, slots=True)
class Launch:
    """A launching program and its options."""

    program: str
    np: int | None = None
    min_np: int | None = None
    max_np: int | None = None
    discovers_hosts: bool = False
    names_interface: bool = False
    hostfile: str = ""
    names_hosts: bool = False

    @property
    def elastic(self) -> bool:
        """Whether the program follows its host list while it runs."""
        return self.program in (HOROVODRUN, TIDERUN) and (self.discovers_hosts or self.min_np is not None)


def launch_of(template: Mapping[str, Any]) -> Launch | None:
    """The program that the first container of a launcher runs: the first elastic one, otherwise the first that starts
    ranks."""
    words = tuple(word for container in containers(template)[:1] for word in _words(container))
    is_short = len(words) <= _MOST_REMEMBERED_WORDS and sum(map(len, words)) <= _LONGEST_REMEMBERED
    return _remembered_launch(words) if is_short else _launch(words)


def _launch(words: Sequence[str]) -> Launch | None:
    found = list(_launches(words))
    return next((each for each in found if each.elastic), found[0] if found else None)


_MOST_REMEMBERED_WORDS: Final = 100
_LONGEST_REMEMBERED: Final = 4096
"""Characters. Longer command lines are rare and are parsed every time, so that all remembered ones take a few MB."""
_remembered_launch: Final = lru_cache(maxsize=256)(_launch)
"""A job is reconciled many times with the same command line, and each reconcile needs the launch several times."""


_LONG: Final = ("bind-to", "map-by", "rank-by", "hostfile", "npernode", "output-filename")
"""Options of mpirun that users write with one dash."""


def single_dashed(template: Mapping[str, Any]) -> tuple[str, ...]:
    """Long options of mpirun that the launcher's first container has with one dash, at any place."""
    words = {word for each in containers(template)[:1] for text in _words(each) for word in text.split()}
    return tuple(name for name in _LONG if f"-{name}" in words)


def _words(container: Container) -> list[str]:
    """The words with variables expanded; none if they become too long, as nested variables can grow exponentially.

    A command line with too many words is ignored too: it is read several times in every reconcile.
    """
    if len(container.command or ()) + len(container.args or ()) > _MOST_WORDS or len(container.env or ()) > _MOST_WORDS:
        return []
    variables: dict[str, str] = {}
    room = _LONGEST_EXPANSION
    for each in container.env or ():
        variables[each.name] = _expanded(each.value or "", variables)
        room -= len(variables[each.name])
        if room < 0:
            return []
    words = []
    for word in (*(container.command or ()), *(container.args or ())):
        meant = _with_variables(word, variables) if "$" in word else word
        room -= len(meant)
        if room < 0:
            return []
        words.append(meant)
    return words


def _with_variables(word: str, variables: Mapping[str, str]) -> str:
    return _replaced(_REFERENCE, _expanded(word, variables), lambda found: variables.get(found[1] or found[2]))


_KUBERNETES_REFERENCE: Final = re.compile(r"\$\$|\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)")
_REFERENCE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_MOST_WORDS: Final = 5000
_LONGEST_EXPANSION: Final = 2**21
"""Characters; more than an object can hold."""


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    """Expands like the kubelet: `$(NAME)` is a variable, an unknown one stays, `$$` is a dollar."""
    return _replaced(_KUBERNETES_REFERENCE, text, lambda found: variables.get(found[1]) if found[1] else "$")


def _replaced(pattern: re.Pattern[str], text: str, value: Callable[[re.Match[str]], str | None]) -> str:
    """A text that would become too long is left unchanged."""
    parts, at, length = [], 0, len(text)
    for found in pattern.finditer(text):
        new = value(found)
        if new is None:
            continue
        length += len(new)
        if length > _LONGEST_EXPANSION:
            return text
        parts += [text[at : found.start()], new]
        at = found.end()
    return "".join([*parts, text[at:]])


_SHELLS: Final = frozenset({"sh", "ash", "bash", "dash", "ksh", "zsh"})
_RUNS_A_SCRIPT: Final = re.compile(r"-[abd-z]*c[a-z]*")
_SHELL_WORDS: Final = frozenset({"!", "{", "if", "then", "else", "do", "while", "until", "time", "exec", "command"})
_WRAPPERS: Final = frozenset(
    {"dumb-init", "env", "ionice", "nice", "nohup", "numactl", "setsid", "stdbuf", "sudo", "timeout", "tini"}
)
_IN_BETWEEN: Final = re.compile(r"-.*|\w+=.*|[0-9.]+[smhd]?", re.DOTALL)


def _launches(words: Sequence[str]) -> Iterator[Launch]:
    for index, word in enumerate(words):
        name = PurePosixPath(word).name
        if name in _SHELLS:
            yield from _in_script(words[index + 1 :])
            return
        if name in _PROGRAMS:
            yield _told(name, words[index + 1 :])
            return
        if name not in _SHELL_WORDS | _WRAPPERS and _IN_BETWEEN.fullmatch(word) is None:
            return


def _in_script(arguments: Sequence[str]) -> Iterator[Launch]:
    for index, word in enumerate(arguments[:-1]):
        if _RUNS_A_SCRIPT.fullmatch(word):
            for command in _commands(arguments[index + 1]):
                yield from _launches(command)
            return


_CONTINUED: Final = re.compile(r"\\\n")
_SUBSTITUTED: Final = re.compile(r"\$\([^()]*\)|`[^`]*`")
_LONGEST_SCRIPT: Final = 64 * 1024  # the lexer takes two microseconds for a letter
_BETWEEN_COMMANDS: Final = ";&|()\n"


def _commands(script: str) -> Iterator[list[str]]:
    """The simple commands of a shell script; none if it has an open quote or is too long."""
    if len(script) > _LONGEST_SCRIPT:
        return
    text = _SUBSTITUTED.sub("$?", _without_arithmetic(_CONTINUED.sub("", script)))
    lexer = shlex.shlex(text, posix=True, punctuation_chars=_BETWEEN_COMMANDS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    command: list[str] = []
    try:
        for token in lexer:
            if set(token) <= set(_BETWEEN_COMMANDS):
                yield command
                command = []
            else:
                command.append(token)
    except ValueError:
        return
    yield command


def _without_arithmetic(script: str) -> str:
    """Replaces each `$((...))` within a line by its value if that is a product of numbers, as in `-np $((3*1))`, and by
    `$?` otherwise; in linear time even if many are unclosed."""
    lines = []
    for line in script.split("\n"):
        parts, at = [], 0
        while (start := line.find("$((", at)) >= 0 and (end := line.find("))", start + 3)) >= 0:
            parts += [line[at:start], _product(line[start + 3 : end])]
            at = end + 2
        lines.append("".join([*parts, line[at:]]))
    return "\n".join(lines)


_FACTORS: Final = re.compile(r"\s*\d{1,10}\s*(?:\*\s*\d{1,10}\s*)?")


def _product(expression: str) -> str:
    if _FACTORS.fullmatch(expression) is None:
        return "$?"
    return str(prod(int(factor) for factor in expression.split("*")))


def _told(program: str, words: Sequence[str]) -> Launch:
    options = dict(_options(words, _PROGRAMS[program]))
    return Launch(
        program=program,
        np=_count(options, "np", "num-proc", "n", "c"),
        min_np=_count(options, "min-np", "min-num-proc"),
        max_np=_count(options, "max-np", "max-num-proc"),
        discovers_hosts="host-discovery-script" in options,
        names_interface="network-interface" in options or "network-interfaces" in options,
        names_hosts=any(name in options for name in (*_HOSTS, *_HOSTFILES)),
        hostfile=next((options[name] for name in _HOSTFILES if name in options), ""),
    )


_HOSTS: Final = ("H", "host", "hosts", "config-file")
_HOSTFILES: Final = ("hostfile", "machinefile", "default-hostfile", "f")


def _options(words: Sequence[str], takes: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Options and their first values, up to the first other word. One dash or two are equivalent."""
    rest = iter(words)
    for word in rest:
        if not word.startswith("-") or word == "--":
            return
        name, equals, value = word.lstrip("-").partition("=")
        values = [value] if equals else [next(rest, "") for _ in range(takes.get(name, 0))]
        yield name, values[0] if values else ""


def _count(options: Mapping[str, str], *names: str) -> int | None:
    """A number of processes; another value, such as a variable that only the pod knows, counts as missing."""
    given = next((options[name] for name in names if name in options), "")
    number = whole_numbers.parse(given) if given.isdigit() else None
    return min(number, _LARGEST) if number else None


_LARGEST: Final = 2**31 - 1
"""The largest value of a job's fields: numbers read here are written into its status."""


def _taking(values: int, names: str) -> dict[str, int]:
    return dict.fromkeys(names.split(), values)


_HOROVODRUN_OPTIONS: Final = _taking(
    1,
    "np num-proc start-timeout network-interfaces network-interface output-filename config-file p ssh-port i "
    "ssh-identity-file fusion-threshold-mb cycle-time-ms cache-capacity autotune-log-file autotune-warmup-samples "
    "autotune-steps-per-sample autotune-bayes-opt-max-samples autotune-gaussian-process-noise min-np min-num-proc "
    "max-np max-num-proc slots-per-host elastic-timeout reset-limit timeline-filename "
    "stall-check-warning-time-seconds stall-check-shutdown-time-seconds mpi-args binding-args num-nccl-streams "
    "thread-affinity gloo-timeout-seconds log-level H hosts hostfile host-discovery-script",
) | _taking(2, "blacklist-cooldown-range")

_TIDERUN_OPTIONS: Final = _HOROVODRUN_OPTIONS | _taking(1, "slots nics heartbeat-timeout")

_MPIRUN_OPTIONS: Final = _taking(
    1,
    "np n c H host hosts hostfile machinefile default-hostfile f x bind-to map-by rank-by N npernode npersocket ppn "
    "perhost wdir wd prefix path output-filename output display runtime-options tune am app configfile rankfile rf "
    "cpu-set cpu-list timeout stdin report-pid report-uri launch-agent preload-files personality genvlist envlist "
    "iface launcher launcher-exec bootstrap bootstrap-exec rmk",
) | _taking(2, "mca gmca prtemca pmixmca omca env genv")

_PROGRAMS: Final[Mapping[str, Mapping[str, int]]] = {
    HOROVODRUN: _HOROVODRUN_OPTIONS,
    TIDERUN: _TIDERUN_OPTIONS,
    **dict.fromkeys(("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun"), _MPIRUN_OPTIONS),
}
"""Programs that start ranks, with the number of values of each option; options that are not listed take none."""
