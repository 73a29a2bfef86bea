# SPDX-License-Identifier: Apache-2.0
"""What docs/pytorchjobs.md and its translation say is so: the commands run, and every variable is listed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from tests.docs import pages
from tests.docs.pages import DOCS

from springtide.api.defaults.pytorchjob import defaulted
from springtide.api.kinds.pytorchjob import CONTAINER, PORT, PORT_NAME
from springtide.api.validation.pytorchjob import admission_errors
from springtide.jobs.kinds.pytorch import variables
from springtide.jobs.policies import whole_job_restart

PAGES = ("pytorchjobs.md", "zh/pytorchjobs.md")


@pytest.mark.timeout(250)
@pytest.mark.skipif(not pages.TOOLS, reason="needs kubectl: make test-docs")
def test_its_commands_run(home: Path) -> None:
    said = pages.run(DOCS / "pytorchjobs.md", home, patience=200)
    assert "rank 0 of 3: the sum of all ranks is 3" in said
    assert "elastic-worker-2: 1:3 nodes meet at elastic-worker-0:23456\nelastic-worker-2: leaving\n" in said
    assert re.search(r"^elastic +Running +3/3 +1 +3 ", said, re.MULTILINE)


def test_the_translation_has_the_same_commands_sections_and_rows() -> None:
    pages.assert_same(*PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_its_links_lead_to_sections(page: str) -> None:
    pages.assert_links(DOCS / page)


def manifest(page: str) -> dict[str, object]:
    (text,) = re.findall(r"^```yaml\n(.*?)^```$", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
    found: dict[str, object] = yaml.safe_load(text)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_its_manifest_is_valid(page: str) -> None:
    assert admission_errors(manifest(page)) == []


@pytest.mark.parametrize("page", PAGES)
def test_every_variable_is_listed(page: str) -> None:
    raw = manifest("pytorchjobs.md")
    spec = raw["spec"]
    assert isinstance(spec, dict)
    spec["pytorchReplicaSpecs"]["Master"] = {"template": spec["pytorchReplicaSpecs"]["Worker"]["template"]}
    spec["elasticPolicy"] |= {
        "rdzvId": "id",
        "rdzvConf": [{"key": "a", "value": "b"}],
        "standalone": True,
        "maxRestarts": 1,
    }
    job = defaulted(raw)
    text = (DOCS / page).read_text()
    for name in variables.of_replica(job, "Worker", 0):
        assert f"`{name}`" in text
    for name, value in variables.if_unset(job).items():
        assert f"`{name}={value}`" in text


@pytest.mark.parametrize("page", PAGES)
def test_names_and_annotations_are_those_of_the_engine(page: str) -> None:
    text = (DOCS / page).read_text()
    assert all(f"`{name}`" in text for name in (CONTAINER, PORT_NAME, "init-pytorch"))
    assert str(PORT) in text
    assert f"`{whole_job_restart.ANNOTATION}: {whole_job_restart.WHOLE_JOB}`" in text
