# SPDX-License-Identifier: Apache-2.0
"""Arena's config file, failures in one line, and a sentence of Arena's for each failure that has one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from springtide.cli import connecting
from springtide.cli.arena.errors import ArenaError
from springtide.cli.arena.session import Session, in_one_line, read
from springtide.cli.arena.wording import in_arenas_words
from springtide.cli.errors import Failure
from springtide.cli.jobs.changing.deleting import NotYours
from springtide.cli.jobs.changing.submitting import JobExists, LeftOver, NameTaken
from springtide.cli.jobs.finding import JobNotFound, SeveralJobs
from springtide.cli.jobs.instances import NoInstances, NoSuchInstance, NotRunning, SeveralInstances
from springtide.kube.config import Connection
from springtide.messages import text

GLOBALS = {"config": "", "namespace": "", "loglevel": "info", "arena-namespace": "arena-system"}


def test_the_config_file_has_lines_of_keys_and_values() -> None:
    lines = ["# comment", "", "  # another", "namespace = team", "imagePullSecrets=a,b", "nothing", "x=y=z"]
    assert read(lines) == {"namespace": "team", "imagePullSecrets": "a,b", "x": "y=z"}


@pytest.mark.parametrize(("flag", "asked_for"), [("", "team"), ("other", "other")])
def test_the_namespace_of_the_flag_comes_before_that_of_the_config_file(
    flag: str, asked_for: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text("namespace=team\n")
    monkeypatch.setenv("ARENA_CONFIG", str(tmp_path / "config"))

    def found(kubeconfig: str, context: str, namespace: str) -> connecting.Target:
        return connecting.Target(Connection("https://x"), namespace)

    monkeypatch.setattr(connecting, "found", found)
    assert Session(GLOBALS | {"namespace": flag}).namespace == asked_for


def test_a_failure_is_one_line() -> None:
    failure = Failure(text("It failed."), text("the disk is full"), text("make room"))
    assert in_one_line(failure) == "It failed: the disk is full; make room"
    assert in_one_line(Failure(text("It failed."), hint=text("try again"))) == "It failed; try again"


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        (
            JobNotFound("team", "a", text("hint")),
            "Not found training job a in namespace team,please use 'arena submit' to create it.",
        ),
        (JobExists("a"), "the job a is already exist, please delete it first. use 'arena delete a'"),
        (
            LeftOver("a", "a-etjob", "etjob"),
            "the job configmap a-etjob is already exist, please delete it first. use 'a",
        ),
        (
            SeveralJobs("a", "TFJob, MPIJob", "--type tfjob"),
            "there are more than 1 training jobs with the same name a,",
        ),
        (NameTaken("secret/a"), "secret/a is already exist"),
        (NotYours("a"), "you have no privileges to operate the job,because the owner of job is not you"),
        (NoInstances("a"), "not found instances of the job a"),
        (
            NoSuchInstance("a", "b", ["c"]),
            "invalid instance name b in job a,please use 'arena get a' to make sure instance name",
        ),
        (SeveralInstances("a", ["b", "c"]), "There is 2 instances have been found:\n\nb\nc\n\nplease use '-i' or "),
        (NotRunning("b", "Pending"), "instance b is not running: Pending"),
    ],
)
def test_failures_that_arena_knows_are_said_in_its_words(failure: Failure, sentence: str) -> None:
    with pytest.raises(ArenaError, match=re.escape(sentence)), in_arenas_words():
        raise failure


def test_other_failures_stay_what_they_are() -> None:
    with pytest.raises(Failure, match="else"), in_arenas_words():
        raise Failure(text("Something else."))
