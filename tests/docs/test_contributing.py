# SPDX-License-Identifier: Apache-2.0
"""CONTRIBUTING.md lists the targets of the Makefile, all of them and no others, and CI runs all that test."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

TARGETS = set(re.findall(r"^([a-z][a-z0-9-]*):.* ## ", (ROOT / "Makefile").read_text(), re.MULTILINE)) - {"help"}
BY_OTHERS = {"test-unit", "test-crash-elastic"}
"""Run by `make test` and `make test-crash`."""


def test_every_target_is_listed() -> None:
    rows = re.findall(r"^\| (`make .*?`) \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    assert {target for row in rows for target in re.findall(r"`make ([a-z0-9-]+)`", row)} == TARGETS


def test_ci_runs_every_target_that_tests() -> None:
    tests = {target for target in TARGETS if re.match(r"(test|e2e|check|demo)\b", target)}
    assert tests - BY_OTHERS <= set(re.findall(r"make ([a-z0-9-]+)", (ROOT / ".ci/run").read_text()))


def test_make_itself_knows_them_as_commands() -> None:
    (phony,) = re.findall(r"^\.PHONY: (help .*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(phony.split()) - {"help"} == TARGETS
