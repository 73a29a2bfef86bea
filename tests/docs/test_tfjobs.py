# SPDX-License-Identifier: Apache-2.0
"""What docs/tfjobs.md and its translation say is so: the commands run, and the numbers are those of the engine."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.docs import pages
from tests.docs.pages import DOCS
from tests.unit.api.builders import a_tfjob

from springtide.api.defaults.shared import DEFAULT_BACKOFF_LIMIT
from springtide.api.kinds.tfjob import CONTAINER, PORT, PORT_NAME, RESOURCE
from springtide.api.schema.definitions import definition
from springtide.jobs.policies import backoff_limit, force_delete, whole_job_restart
from springtide.jobs.registry import SERVED

PAGES = ("tfjobs.md", "zh/tfjobs.md")


@pytest.mark.timeout(200)
@pytest.mark.skipif(not pages.TOOLS, reason="needs kubectl: make test-docs")
def test_its_commands_run(home: Path) -> None:
    said = pages.run(DOCS / "tfjobs.md", home)
    assert '{"cluster":{"worker":{"1":"count-worker-1.default.svc' in said
    assert re.search(r"^worker 0: 30\d of 300 counted$", said, re.MULTILINE)


def test_the_translation_has_the_same_commands_sections_and_rows() -> None:
    pages.assert_same(*PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_its_links_lead_to_sections(page: str) -> None:
    pages.assert_links(DOCS / page)


@pytest.mark.parametrize("page", PAGES)
def test_names_and_annotations_are_those_of_the_engine(page: str) -> None:
    text = (DOCS / page).read_text()
    assert all(f"`{name}`" in text for name in (CONTAINER, PORT_NAME))
    assert str(PORT) in text
    assert f"`{whole_job_restart.ANNOTATION}: {whole_job_restart.WHOLE_JOB}`" in text
    assert f"`{force_delete.ANNOTATION}: {force_delete.NEVER}`" in text


def test_limits_are_those_of_the_engine() -> None:
    assert (DEFAULT_BACKOFF_LIMIT, backoff_limit.CAP, backoff_limit.FIRST_SIGNAL) == (6, 10, 128)
    text = (DOCS / "tfjobs.md").read_text()
    assert "six are allowed" in text
    assert "ten times, apart from `backoffLimit`" in text
    assert "from code 128 on" in text


def test_the_crd_has_the_size_that_the_page_names() -> None:
    (kilobytes,) = re.findall(r"\| (\d+) KB, with `scale` \|", (DOCS / "tfjobs.md").read_text())
    assert len(json.dumps(definition(RESOURCE))) < int(kilobytes) * 1024


@pytest.mark.parametrize("page", PAGES)
def test_another_size_is_rejected_with_the_words_of_the_page(page: str) -> None:
    text = " ".join((DOCS / page).read_text().split())
    raw = a_tfjob({"Worker": 2})
    old = {**raw, "status": {"startTime": "2026-01-01T00:00:00Z"}}
    served = next(each for each in SERVED if each.definition.kind == "TFJob")
    (error,) = served.size_errors(a_tfjob({"Worker": 3}), old)
    assert f'The TFJob "mnist" is invalid: {error}' in text
