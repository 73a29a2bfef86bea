# SPDX-License-Identifier: Apache-2.0
"""From what the trials said to what it means, and to the line that helps."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from springtide.local.runtime.isolation import NEEDED, fix, judge

ALL = ("user", "network", "processes", "root", "proc", "overlay", "own uid")
APPARMOR = {"kernel/apparmor_restrict_unprivileged_userns": "1"}


def line(name: str, number: int = 0, why: str = "") -> dict[str, Any]:
    return {"name": name, "ok": not why, "errno": number, "why": why}


def test_a_machine_that_allows_everything() -> None:
    findings = judge([line(name) for name in ALL], {}, is_root=False)
    assert (findings.isolation, findings.missing) == ("namespaces", ())


@pytest.mark.parametrize("refused", NEEDED)
def test_what_a_pod_cannot_do_without(refused: str) -> None:
    lines = [line(name, errno.EPERM, "no" if name == refused else "") for name in ALL]
    findings = judge(lines, {}, is_root=False)
    assert findings.isolation == "none"
    assert [finding.name for finding in findings.missing] == [refused]


@pytest.mark.parametrize("refused", ["proc", "overlay"])
def test_what_a_pod_can_do_without(refused: str) -> None:
    lines = [line(name, errno.EPERM, "no" if name == refused else "") for name in ALL]
    findings = judge(lines, {}, is_root=False)
    assert findings.isolation == "namespaces"
    assert findings.missing[0].fix


def test_a_trial_that_died_is_a_refusal() -> None:
    findings = judge([line("user"), line("network")], {}, is_root=False)
    assert findings.isolation == "none"
    assert {finding.name for finding in findings.missing} == {"processes", "root", "own uid"}


def test_root_needs_no_user_namespaces() -> None:
    findings = judge([line(name) for name in ("network", "processes", "root", "proc", "overlay")], {}, is_root=True)
    assert (findings.isolation, findings.missing) == ("namespaces", ())


def test_no_line_at_all_is_no_isolation() -> None:
    assert judge([], {}, is_root=True).isolation == "none"


@pytest.mark.parametrize(
    ("name", "number", "switches", "is_root", "words"),
    [
        ("user", errno.EPERM, {"kernel/unprivileged_userns_clone": "0"}, False, "kernel.unprivileged_userns_clone=1"),
        ("root", errno.EACCES, APPARMOR, False, "kernel.apparmor_restrict_unprivileged_userns=0"),
        ("user", errno.ENOSPC, {}, False, "user.max_user_namespaces"),
        ("user", errno.EPERM, {"user/max_user_namespaces": "0"}, False, "user.max_user_namespaces"),
        ("network", errno.EOPNOTSUPP, {}, True, "modprobe bridge veth"),
        ("root", errno.EPERM, APPARMOR, True, "--privileged"),
        ("processes", errno.EPERM, {}, False, "--privileged"),
    ],
)
def test_each_refusal_has_a_line_that_helps(
    name: str, number: int, switches: dict[str, str], is_root: bool, words: str
) -> None:
    assert words in fix(name, number, switches, is_root)
