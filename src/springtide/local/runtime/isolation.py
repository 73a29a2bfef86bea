# SPDX-License-Identifier: Apache-2.0
"""Which isolation this machine allows a pod: found out by trying each step, not by reading settings.

    findings = probe()
    findings.isolation      # "namespaces", or "none" where a step is refused that a pod cannot do without
    findings.all            # one line each for `tide doctor`: step, result, reason, remedy

Settings are read only to find the remedy, once a step has been refused.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from springtide.local.directory_trees import remove_tree
from springtide.local.runtime.shim_client import interpreter, module_command

PATIENCE: Final = 20.0
TITLES: Final = {
    "user": "user namespaces",
    "network": "a network of the pods' own (namespace, bridge, veth)",
    "processes": "PID namespaces",
    "root": "a root of a pod's own (mounts, pivot_root)",
    "own uid": "programs under your own uid inside",
    "proc": "a fresh /proc",
    "overlay": "overlay mounts",
}
NEEDED: Final = ("user", "network", "processes", "root", "own uid")
"""Without the other steps a pod still runs, with less isolation."""
SWITCHES: Final = (
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    ("kernel/unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
    ("user/max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces=100000"),
)
"""Features that distributions disable for ordinary users, and the command that enables each."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one step."""

    name: str
    ok: bool
    why: str = ""
    fix: str = ""

    @property
    def title(self) -> str:
        return TITLES.get(self.name, self.name)


@dataclass(frozen=True, slots=True)
class Findings:
    all: tuple[Finding, ...]

    @property
    def isolation(self) -> str:
        refused = any(not finding.ok for finding in self.all if finding.name in NEEDED)
        return "none" if refused or not self.all else "namespaces"

    @property
    def missing(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.all if not finding.ok)


def probe() -> Findings:
    """Try every step once, in a separate process; takes some tens of milliseconds."""
    if sys.platform != "linux":
        why = f"{sys.platform} has no namespaces"
        return Findings(
            (Finding("user", False, why, "pods share the host's network and files here; use Linux for more"),)
        )
    with tempfile.TemporaryDirectory(prefix="springtide-probe-") as scratch:
        try:
            lines = _try_all(scratch)
        finally:
            remove_tree(f"{scratch}/root")
    return judge(lines, _switches(), os.geteuid() == 0)


def judge(lines: list[dict[str, Any]], switches: Mapping[str, str], is_root: bool) -> Findings:
    """Turn the output of the steps into findings."""
    findings = [
        Finding(line["name"], True)
        if line["ok"]
        else Finding(line["name"], False, line["why"], fix(line["name"], line["errno"], switches, is_root))
        for line in lines
    ]
    expected = [name for name in NEEDED if not (is_root and name in ("user", "own uid"))]
    known = {finding.name for finding in findings}
    if all(finding.ok for finding in findings if finding.name in NEEDED):
        findings += [Finding(name, False, "the trial ended before this") for name in expected if name not in known]
    return Findings(tuple(findings))


def fix(name: str, number: int, switches: Mapping[str, str], is_root: bool) -> str:
    """The remedy for a refused step."""
    if name == "overlay":
        return "Linux 5.11 or newer allows it; until then mount points inside large directories take longer to make"
    if name == "proc":
        return "nothing needs to be done; a machine that is not itself a container allows it"
    if number in (errno.EOPNOTSUPP, errno.ENODEV):
        return "sudo modprobe bridge veth"
    if number == errno.ENOSPC:
        return "sudo sysctl -w user.max_user_namespaces=100000"
    if not is_root:
        for path, bad, command in SWITCHES:
            if switches.get(path) == bad:
                return command
    return (
        "inside a container: start it with --privileged, or with --security-opt seccomp=unconfined --cap-add SYS_ADMIN"
    )


def _try_all(scratch: str) -> list[dict[str, Any]]:
    command = [interpreter(), *module_command("probing"), scratch]
    try:
        done = subprocess.run(command, env={}, cwd="/", capture_output=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired as error:
        done = subprocess.CompletedProcess(command, 1, error.stdout or b"", b"")
    return [msgspec.json.decode(line) for line in done.stdout.splitlines() if line.startswith(b"{")]


def _switches() -> dict[str, str]:
    found = {}
    for path, _, _ in SWITCHES:
        file = Path("/proc/sys") / path
        if file.is_file():
            found[path] = file.read_text().strip()
    return found
