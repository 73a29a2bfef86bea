# SPDX-License-Identifier: Apache-2.0
"""The command line of `tiderun`: the options of horovodrun, with their meaning.

A run is elastic with `--host-discovery-script` or `--min-np`: it continues when workers join, leave or die. Options
that only tune Horovod's engine are accepted and have no effect, so that existing command lines work.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NoReturn

from springtide import __version__
from springtide.elastic.launcher import hosts
from springtide.elastic.launcher.state_machine.workers import Limits

_USAGE: Final = "{program} -np N [options] PROGRAM [ARGUMENTS]"
_EXAMPLES: Final = """
examples:
  {program} -np 4 python train.py
      four ranks on this machine
  {program} -np 4 -H a:2,b:2 python train.py
      two on each of two machines, over ssh
  {program} -np 2 --min-np 1 --max-np 4 --host-discovery-script ./hosts.sh python train.py
      as many as the script lists, between one and four
"""
TIDERUN: Final = "tiderun"
EVENT_LOG: Final = "TIDE_EVENT_LOG"
"""The environment variable with the file for the events of a run that fails."""
_VERSIONS: Final = {
    TIDERUN: f"tiderun {__version__}",
    "horovodrun": f"horovodrun of Springtide {__version__} (tiderun with Horovod's command line, not Horovod)",
}
"""What `--version` prints, by program."""
_NO_EFFECT: Final[Mapping[str, int]] = {
    "--gloo": 0, "--use-gloo": 0, "--disable-cache": 0, "--no-stall-check": 0, "--autotune": 0,
    "--hierarchical-allreduce": 0, "--no-hierarchical-allreduce": 0, "--hierarchical-allgather": 0,
    "--no-hierarchical-allgather": 0, "--cache-capacity": 1, "--fusion-threshold-mb": 1, "--cycle-time-ms": 1,
    "--log-level": 1, "--num-nccl-streams": 1, "--thread-affinity": 1, "--gloo-timeout-seconds": 1,
    "--autotune-log-file": 1, "--autotune-warmup-samples": 1, "--autotune-steps-per-sample": 1,
    "--autotune-bayes-opt-max-samples": 1, "--autotune-gaussian-process-noise": 1, "--tcp": 0,
    "--stall-check-warning-time-seconds": 1, "--stall-check-shutdown-time-seconds": 1, "--stall-check": 0,
    "--no-autotune": 0, "--timeline-mark-cycles": 0, "--no-timeline-mark-cycles": 0, "--mpi-threads-disable": 0,
    "--no-mpi-threads-disable": 0, "--log-with-timestamp": 0, "--log-without-timestamp": 0, "--log-hide-timestamp": 0,
    "--no-log-hide-timestamp": 0,
}  # fmt: skip
_NOT_HERE: Final[Mapping[str, str]] = {
    "--mpi": "ranks are not started through MPI",
    "--use-mpi": "ranks are not started through MPI",
    "--mpi-args": "ranks are not started through MPI",
    "--binding-args": "ranks are not started through MPI",
    "--jsrun": "ranks are not started through LSF",
    "--use-jsrun": "ranks are not started through LSF",
    "--config-file": "give the options on the command line",
    "--timeline-filename": "there is no timeline",
}


@dataclass(frozen=True, slots=True)
class Options:
    command: tuple[str, ...]
    limits: Limits
    elastic: bool
    hosts: Mapping[str, int]
    """From -H or a hostfile; empty with a discovery script."""
    script: str | None
    slots_per_host: int | None
    interfaces: tuple[str, ...]
    ssh_port: int | None
    ssh_identity: str | None
    output: Path | None
    timestamps: bool
    verbose: bool
    cooldown: tuple[float, float]
    start_timeout: float
    elastic_timeout: float
    heartbeat_timeout: float
    event_log: Path | None
    """The file for the events of a run that fails."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        program = self.prog
        self.exit(2, f"{program}: {message}\n{program}: usage: {self.usage}; `{program} --help` lists the options\n")

    def remark(self, message: str) -> None:
        self._print_message(f"{self.prog}: {message}\n", sys.stderr)


def read(arguments: Sequence[str], environment: Mapping[str, str], program: str = TIDERUN) -> Options:
    """Exits with a message if the command line is invalid."""
    parser = parser_of(program)
    given, beyond = parser.parse_known_args(arguments)
    if beyond:
        parser.error(f"{beyond[0]} is not an option of {program}, or stands in the wrong place")
    command = tuple(given.command[1:] if given.command[:1] == ["--"] else given.command)
    if not command:
        parser.error("no program is given")
    named = _named_hosts(parser, given)
    elastic = given.script is not None or given.least is not None
    return Options(
        command=command,
        limits=_limits(parser, given, elastic, named),
        elastic=elastic,
        hosts=named,
        script=given.script,
        slots_per_host=given.slots_per_host,
        interfaces=tuple(dict.fromkeys(name for names in given.interfaces for name in names.split(",") if name)),
        ssh_port=given.ssh_port,
        ssh_identity=given.ssh_identity,
        output=given.output,
        timestamps=given.timestamps,
        verbose=given.verbose,
        cooldown=_cooldown(parser, given.cooldown),
        start_timeout=_time(parser, given.start_timeout, "HOROVOD_START_TIMEOUT", environment, 30.0),
        elastic_timeout=_time(parser, given.elastic_timeout, "HOROVOD_ELASTIC_TIMEOUT", environment, 600.0),
        heartbeat_timeout=given.heartbeat_timeout,
        event_log=_event_log(environment, given.output),
    )


def parser_of(program: str = TIDERUN) -> _Parser:
    parser = _Parser(
        prog=program,
        usage=_USAGE.format(program=program),
        description="Starts a program on many hosts, and lets it grow and shrink while it trains.",
        epilog=_EXAMPLES.format(program=program),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("-v", "--version", action="version", version=_VERSIONS[program])
    parser.add_argument(
        "-cb", "--check-build", action=_Build, nargs=0, help="print which frameworks are found here, and exit"
    )
    _add_size(parser)
    _add_hosts(parser)
    _add_times(parser)
    _add_output(parser)
    for name, words in _NO_EFFECT.items():
        if words:
            parser.add_argument(name, dest="without_effect", help=argparse.SUPPRESS)
        else:
            parser.add_argument(name, dest="without_effect", action="store_true", help=argparse.SUPPRESS)
    for name, why in _NOT_HERE.items():
        parser.add_argument(name, action=_refusing(why), nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="PROGRAM [ARGUMENTS]")
    return parser


def _add_size(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("size")
    group.add_argument("-np", "--num-proc", dest="start", type=_count, metavar="N", help="ranks to begin with")
    group.add_argument(
        "--min-np", "--min-num-proc", dest="least", type=_count, metavar="N", help="ranks that training needs (as -np)"
    )
    group.add_argument(
        "--max-np", "--max-num-proc", dest="most", type=_count, metavar="N", help="ranks at most (as many as slots)"
    )
    group.add_argument(
        "--reset-limit", dest="resets", type=_number, metavar="N", help="resizes after which the run fails (none)"
    )


def _add_hosts(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("hosts")
    group.add_argument("-H", "--hosts", dest="hosts", metavar="HOST:SLOTS,…", help="(this machine)")
    group.add_argument(
        "-hostfile", "--hostfile", dest="hostfile", type=Path, metavar="FILE", help="host slots=N a line"
    )
    group.add_argument(
        "--host-discovery-script",
        dest="script",
        metavar="SCRIPT",
        help="prints a host:slots a line; asked every second, and at once when it changes",
    )
    group.add_argument(
        "--slots-per-host", "--slots", dest="slots_per_host", type=_count, metavar="N", help="where a host has none"
    )
    group.add_argument(
        "--blacklist-cooldown-range",
        dest="cooldown",
        nargs=2,
        type=_seconds,
        metavar=("MIN", "MAX"),
        help="seconds a host is in back-off after a failure, doubled each time (10 300)",
    )
    group.add_argument("-p", "--ssh-port", dest="ssh_port", type=_port, metavar="PORT", help="of ssh on other hosts")
    group.add_argument(
        "-i", "--ssh-identity-file", dest="ssh_identity", metavar="FILE", help="private key for ssh to other hosts"
    )
    group.add_argument(
        "--network-interface",
        "--network-interfaces",
        "--nics",
        dest="interfaces",
        action="append",
        default=[],
        metavar="NAME,…",
        help="over which ranks and tiderun are reached (any)",
    )


def _add_times(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("patience, in seconds")
    group.add_argument(
        "--start-timeout",
        type=_seconds,
        metavar="S",
        help="for a host to start a rank, after which others are tried (30)",
    )
    group.add_argument(
        "--elastic-timeout",
        type=_seconds,
        metavar="S",
        help="with fewer ranks than it takes, after which the run fails (600)",
    )
    group.add_argument(
        "--heartbeat-timeout",
        type=_seconds,
        metavar="S",
        default=30.0,
        help="without a message from a live rank, after which the rank is killed (30)",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument(
        "--output-filename", dest="output", type=Path, metavar="DIR", help="write to DIR/rank.N/stdout and stderr too"
    )
    group.add_argument(
        "-prefix-timestamp",
        "--prefix-output-with-timestamp",
        "--prefix-timestamp",
        dest="timestamps",
        action="store_true",
        help="put the time before every line",
    )
    group.add_argument("--verbose", action="store_true", help="print what is done and why")


def _named_hosts(parser: argparse.ArgumentParser, given: argparse.Namespace) -> dict[str, int]:
    """The hosts of the command line; this machine if there are neither hosts nor a script."""
    named = [
        name
        for name, value in (("-H", given.hosts), ("--hostfile", given.hostfile), ("the script", given.script))
        if value is not None
    ]
    if len(named) > 1:
        parser.error(f"hosts come from {named[0]} or from {named[1]}, not from both")
    try:
        if given.hosts is not None:
            return hosts.from_option(given.hosts, given.slots_per_host)
        if given.hostfile is not None:
            return hosts.from_hostfile(given.hostfile.read_text(), str(given.hostfile), given.slots_per_host)
        if given.script is not None:
            if not shlex.split(given.script):
                parser.error("--host-discovery-script: no script is named")
            return {}
    except OSError as error:
        parser.error(f"{given.hostfile}: {error.strerror}")
    except UnicodeDecodeError:
        parser.error(f"{given.hostfile}: it is no text")
    except ValueError as error:
        parser.error(str(error))
    return {"localhost": given.slots_per_host or max(given.start or 1, given.most or 1)}


def _limits(parser: _Parser, given: argparse.Namespace, elastic: bool, named: Mapping[str, int]) -> Limits:
    if given.start is None:
        parser.error("-np is missing: how many ranks to begin with")
    start: int = given.start
    if given.most is not None and given.most < start:
        parser.error(f"--max-np {given.most} is less than -np {start}")
    least: int = given.least if elastic and given.least is not None else start
    if least > start:
        parser.error(f"--min-np {least} is more than -np {start}")
    if (named or not elastic) and hosts.total(named) < least:
        option = "-np" if least == start else "--min-np"
        parser.error(f"{option} {least} takes more slots than there are: {hosts.described(named)}")
    if not elastic:
        for name, value in (("--max-np", given.most), ("--reset-limit", given.resets)):
            if value is not None:
                parser.remark(f"{name} has no effect: without --min-np or --host-discovery-script no run is elastic")
        return Limits(start, start, start, given.resets)
    return Limits(start, least, given.most, given.resets)


def _time(
    parser: argparse.ArgumentParser,
    given: float | None,
    name: str,
    environment: Mapping[str, str],
    otherwise: float,
) -> float:
    """From the command line, otherwise from the environment."""
    if given is not None:
        return given
    try:
        return _seconds(environment.get(name) or str(otherwise))
    except argparse.ArgumentTypeError as error:
        parser.error(f"{name}: {error}")


def _event_log(environment: Mapping[str, str], output: Path | None) -> Path | None:
    if named := environment.get(EVENT_LOG):
        return Path(named)
    return output / "events.jsonl" if output is not None else None


def _cooldown(parser: argparse.ArgumentParser, given: Sequence[float] | None) -> tuple[float, float]:
    shortest, longest = given or (10.0, 300.0)
    if not 1 <= shortest <= longest <= 3600:
        parser.error("--blacklist-cooldown-range takes two numbers of seconds, 1 to 3600, the smaller one first")
    return shortest, longest


class _Build(argparse.Action):
    """Prints one line, without importing the frameworks."""

    def __call__(
        self, parser: argparse.ArgumentParser, _space: object, _values: object, _name: str | None = None
    ) -> None:
        names = ("numpy", "torch", "tensorflow")
        found = ", ".join(f"{name} ({'found' if find_spec(name) else 'not found'})" for name in names)
        print(f"{_VERSIONS[parser.prog]}: {found}")
        parser.exit()


def _refusing(why: str) -> type[argparse.Action]:
    class Refusing(argparse.Action):
        def __call__(
            self, parser: argparse.ArgumentParser, _space: object, _values: object, name: str | None = None
        ) -> None:
            parser.error(f"{name} is not an option of {parser.prog}: {why}")

    return Refusing


def _count(text: str) -> int:
    number = _number(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is too small; it takes 1 or more")
    if number > hosts.MOST:
        raise argparse.ArgumentTypeError(f"{text} is too large; it takes {hosts.MOST} or fewer")
    return number


def _port(text: str) -> int:
    if not 0 < _number(text) < 1 << 16:
        raise argparse.ArgumentTypeError(f"{text} is no port; it takes 1 to 65535")
    return int(text)


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds") from None
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no time to wait; it takes more than 0")
    return seconds
