# SPDX-License-Identifier: Apache-2.0
"""What `tide delete` and `tide submit` refuse before they look for a cluster."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from springtide.cli.app import tide


def refused(*words: str) -> Result:
    finished = CliRunner().invoke(tide, list(words), prog_name="tide", env={"LANG": "C", "LC_ALL": "C"})
    assert finished.exit_code == 2, finished.output
    return finished


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ([], "Nothing is named that is to be deleted."),
        (["--yes"], "Nothing is named that is to be deleted."),
        (["--name", "second"], "--name is about an embedded cluster, not about jobs."),
        (["--data-dir", "x", "--force"], "--data-dir, --force is about an embedded cluster, not about jobs."),
        (["bert", "--force"], "--force is about an embedded cluster, not about jobs."),
        (["--cluster", "second"], "second is about jobs, and --cluster is not."),
        (["--cluster", "-n", "team", "-T", "tf"], "--type, --namespace is about jobs, and --cluster is not."),
    ],
    ids=str,
)
def test_a_cluster_is_only_deleted_by_its_option(words: list[str], what: str) -> None:
    assert refused("delete", *words).stderr.splitlines() == [
        f"error: {what}",
        "hint: a job: tide delete JOB; an embedded cluster with everything in it: tide delete --cluster",
    ]


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        ([], "Nothing is named that is to be submitted.", "a manifest: tide submit -f FILE; a job by flags: "),
        (["job.yaml"], "job.yaml is no type of jobs.", "submit a manifest with: tide submit -f job.yaml"),
        (["mpjob", "true"], "There is no type of jobs mpjob.", "did you mean mpijob?"),
        (["sparkjob", "true"], "There is no type of jobs sparkjob.", "types are: etjob, mpijob, "),
        (["-n", "team", "etjob", "--name=a", "true"], "Options of etjob stand after it.", "write: tide submit etjob "),
        (["--dry-run=client", "tf", "--name=a", "true"], "Options of tf stand after it.", "write: tide submit tf "),
        (["etjob", "true"], "--name is missing.", ""),
        (["etjob", "--name=a"], "The command is missing that the job is to run.", "write it at the end: "),
        (["etjob", "--name=a", "--wrkers=2", "true"], "There is no flag --wrkers.", "did you mean --workers?"),
        (["etjob", "--name=a", "train", "--epochs"], "There is no flag --epochs.", "if it is of the job's command, "),
        (["etjob", "--name=a", "--gpus=x", "true"], "The flags cannot be read.", ""),
        (["etjob", "--name=a", "--dry-run=maybe", "true"], "--dry-run is one of none, client, server.", ""),
        (["etjob", "--name=a", "-o", "wide", "true"], "--output is one of yaml, json, name.", ""),
    ],
    ids=str,
)
def test_a_wrong_line_is_answered_with_what_to_write(words: list[str], what: str, hint: str) -> None:
    lines = refused("submit", *words).stderr.splitlines()
    assert lines[0] == f"error: {what}"
    assert not hint or lines[-1].startswith(f"hint: {hint}")


@pytest.mark.parametrize("name", ["etjob", "et", "mpijob", "mj", "tfjob", "tf", "pytorchjob", "deepspeedjob", "dp"])
def test_every_type_has_a_help_with_its_flags(name: str) -> None:
    said = CliRunner().invoke(tide, ["submit", name, "--help"], prog_name="tide").output
    for part in ("Flags of all types:", f"Flags of {'' if len(name) < 5 else name}", "--dry-run", "--working-dir"):
        assert part in said
    assert "--workingDir" not in said
