# SPDX-License-Identifier: Apache-2.0
"""The page on the library does what it says, and its translation and that of the page on tiderun say the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.docs import pages
from tests.docs.pages import DOCS, ROOT

from springtide import elastic
from springtide.api.command_lines import Launch, launch_of
from springtide.api.validation import mpijob

PAGES = ("elastic.md", "zh/elastic.md")
EXAMPLES = ROOT / "examples" / "elastic"
HOROVOD = Path(elastic.__file__).parent / "horovod"


def program(page: Path) -> str:
    (code,) = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return str(code)


@pytest.mark.timeout(200)
def test_its_program_and_its_job_train(home: Path) -> None:
    (home / "train.py").write_text(program(DOCS / "elastic.md"))
    said = pages.run(DOCS / "elastic.md", home)
    learned = r"80 steps, weights \[-?0\. +1\. +2\. +3\. +4\. +5\. +6\. +7\. *\]"
    for who in ("^rank 0 of 1", r"^\[0\]<stdout>:rank 0 of 2", r"^\[1\]<stdout>:rank 1 of 2"):
        assert re.search(f"{who}: {learned}", said, re.MULTILINE), said
    assert re.search(r'"size":2,.*"step":\d+,"loss":[\d.e-]+', said)
    if pages.TOOLS:
        assert re.search(r"^\[0\]<stdout>:step \d+ accuracy 0\.9\d+ size \d$", said, re.MULTILINE), said


@pytest.mark.parametrize("name", ["elastic.md", "tiderun.md"])
def test_translations_have_the_same_commands_and_sections(name: str) -> None:
    both = DOCS / name, DOCS / "zh" / name
    commands = [[re.sub(r" +#.*", "", body) for _, body in pages.blocks(page)] for page in both]
    assert commands[0] == commands[1]
    assert pages.sections(both[0]) == pages.sections(both[1])
    names = [sorted(set(re.findall(r"`([^`\n]+)`", page.read_text().replace("```", "")))) for page in both]
    assert names[0] == names[1]


def test_the_program_is_the_same_in_both_languages() -> None:
    assert program(DOCS / PAGES[0]) == program(DOCS / PAGES[1])


@pytest.mark.parametrize("page", PAGES)
def test_every_name_of_the_library_is_there(page: str) -> None:
    text = (DOCS / page).read_text()
    assert [name for name in elastic.__all__ if not re.search(rf"`{name}\b", text)] == []


def test_horovods_names_are_those_that_are_offered() -> None:
    section = (DOCS / "elastic.md").read_text().partition("## Horovod's names")[2]
    rows = "".join(line for line in section.splitlines() if line.startswith("| "))
    names = {name.rpartition(".")[2] for name in re.findall(r"`([\w.]+)`", rows)}
    sources = "".join(path.read_text() for path in HOROVOD.rglob("*.py"))
    offered = set(re.findall(r'"(\w+)"', sources)) | set(re.findall(r" import \w+ as (\w+)", sources))
    assert names - offered == set()


def test_the_example_learns_to_read() -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(EXAMPLES / "digits.py"), "--epochs", "10"]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=50)
    (accuracy,) = re.findall(r"accuracy ([\d.]+) size 1", ended.stdout)
    assert float(accuracy) > 0.8


@pytest.mark.parametrize("example", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_the_job_of_an_example_is_elastic_and_told_of(example: str) -> None:
    (job,) = (
        each for each in yaml.safe_load_all((EXAMPLES / f"{example}.yaml").read_text()) if each["kind"] == "MPIJob"
    )
    assert mpijob.admission_errors(job) == []
    launcher = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]
    assert launch_of(launcher) == Launch("tiderun", np=2, min_np=1, max_np=3, discovers_hosts=True)
    version = job["apiVersion"].rpartition("/")[2]
    for page in PAGES:
        assert re.search(rf"^\| `{example}\.py` \| .* \| `{version}`", (DOCS / page).read_text(), re.MULTILINE)
