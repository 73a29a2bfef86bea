# SPDX-License-Identifier: Apache-2.0
"""The kinds outside the core group answer as kube-apiserver did, word for word."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.local.kinds.groups.writing import cases, causes, created, merged, status_updated, updated


@pytest.mark.parametrize("case", cases("creations.json", "causes"))
def test_a_bad_object_is_refused_in_the_words_of_kube_apiserver(case: dict[str, Any]) -> None:
    _, errors = created(case["object"])
    assert sorted(causes(errors)) == sorted(case["causes"])


@pytest.mark.parametrize("case", cases("creations.json", "answer"))
def test_a_new_object_is_completed_like_on_kube_apiserver(case: dict[str, Any]) -> None:
    obj, errors = created(case["object"])
    assert errors == []
    assert obj == case["answer"]


@pytest.mark.parametrize("case", cases("updates.json", "causes"))
def test_a_bad_update_is_refused_in_the_words_of_kube_apiserver(case: dict[str, Any]) -> None:
    write = status_updated if "subresource" in case else updated
    _, errors = write(case["old"], merged(case["old"], case["change"]))
    assert sorted(causes(errors)) == sorted(case["causes"])


@pytest.mark.parametrize("case", cases("updates.json", "answer"))
def test_an_update_leaves_what_it_leaves_on_kube_apiserver(case: dict[str, Any]) -> None:
    write = status_updated if "subresource" in case else updated
    obj, errors = write(case["old"], merged(case["old"], case["change"]))
    assert errors == []
    assert obj == merged(case["old"], case["answer"])


@pytest.mark.parametrize("case", cases("creations.json", "answer"))
def test_defaults_given_twice_change_nothing_the_second_time(case: dict[str, Any]) -> None:
    once, _ = created(case["object"])
    twice, _ = created(once)
    assert twice == once
