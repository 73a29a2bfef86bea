# SPDX-License-Identifier: Apache-2.0
"""What TAB offers. There is no cluster here; names of jobs are completed in tests/e2e."""

from __future__ import annotations

from pathlib import Path

import pytest

from springtide.cli.arena.app import ROOT, run
from springtide.cli.arena.completing import complete
from springtide.cli.arena.log_lines import Log


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["sub"], ["submit"]),
        (["submit", "e"], ["etjob"]),
        (["submit", "etjob", "--image-p"], ["--image-pull-secret", "--image-pull-policy"]),
        (["submit", "etjob", "--sync-mode", ""], ["git", "rsync"]),
        (["submit", "etjob", "--sync-mode=r"], ["--sync-mode=rsync"]),
        (["list", "-o", "j"], ["json"]),
        (["list", "-A", "-T", "p"], ["pytorchjob"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["get", ""], []),
        (["get", "--nope", ""], []),
        (["-n", ""], []),
        (["nope", ""], [branch.name for branch in ROOT.commands]),
    ],
)
def test_words_are_completed(words: list[str], offered: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    complete(ROOT, words)
    shown = capsys.readouterr()
    assert [line.partition("\t")[0] for line in shown.out.splitlines()] == offered
    assert shown.err == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(["completion", shell], Log())
    assert "arena __complete" in capsys.readouterr().out
