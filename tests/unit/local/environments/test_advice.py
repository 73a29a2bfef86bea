# SPDX-License-Identifier: Apache-2.0
"""Messages about missing images; `tests/unit/local/kubelet` and `tests/e2e/test_mistakes.py` have more of them."""

from __future__ import annotations

import pytest

from springtide.local.environments.advice import explain_absent


@pytest.mark.parametrize(
    ("image", "meant"),
    [
        ("horovod/horovd:0.28.1", "horovod/horovod:0.28.1"),
        ("horovods", "horovod"),
        ("docker.io/me/horovodd@sha256:00", "docker.io/me/horovod@sha256:00"),
    ],
)
def test_a_name_that_is_nearly_a_known_one_is_asked_about(image: str, meant: str) -> None:
    message = explain_absent(image, "horovodrun")
    assert f". Is {meant} meant? Then correct the job and delete the pod. Otherwise make one, and the pod" in message
    assert message.count("tide env create") == 1


@pytest.mark.parametrize("image", ["me/train:1", "python:3", "", "h"])
def test_other_names_are_not(image: str) -> None:
    message = explain_absent(image, "train")
    assert "meant" not in message
    assert ". Make one, and the pod starts by itself: tide env create" in message
