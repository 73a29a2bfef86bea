# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from springtide.local.environments import patterns

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("pattern", "image"),
    [
        ("horovod/horovod:*", "horovod/horovod:0.28.1"),
        ("horovod/horovod:*", "docker.io/horovod/horovod:0.28.1"),
        ("docker.io/horovod/horovod:*", "horovod/horovod"),
        ("horovod/horovod:*", f"horovod/horovod@{DIGEST}"),
        ("horovod/horovod:0.28.1", f"horovod/horovod:0.28.1@{DIGEST}"),
        ("horovod/horovod", "horovod/horovod:0.28.1"),
        ("horovod/horovod", f"horovod/horovod@{DIGEST}"),
        ("python", "docker.io/library/python:3.12"),
        ("library/python:3.*", "python:3.12"),
        ("python:latest", "python"),
        ("*/horovod:*", "registry.example:5000/ai/horovod:1"),
        ("registry.example:5000/*", "registry.example:5000/ai/horovod:1"),
        ("*", "anything/at:all"),
        (f"a@{DIGEST}", f"a:1@{DIGEST}"),
        ("pytorch:2.[01]*", "pytorch:2.1-cuda"),
    ],
)
def test_fits(pattern: str, image: str) -> None:
    assert patterns.fits(pattern, image)


@pytest.mark.parametrize(
    ("pattern", "image"),
    [
        ("horovod/horovod:*", "registry.example/horovod/horovod:1"),
        ("horovod:*", "horovod/horovod:1"),
        ("python:3.11", "python:3.12"),
        ("python:3.11", "python"),
        ("pythonista", "python"),
        ("registry.example:5000/a", "registry.example:5000/b:1"),
        ("Python", "python"),
        ("python:latest", f"python@{DIGEST}"),
    ],
)
def test_does_not_fit(pattern: str, image: str) -> None:
    assert not patterns.fits(pattern, image)


@pytest.mark.parametrize(
    ("known", "winner"),
    [
        (["*", "horovod/*", "horovod/horovod:0.28*"], "horovod/horovod:0.28*"),
        (["horovod/horovod", "horovod/horovod:*"], "horovod/horovod:*"),
        (["horovod/horovod:*", "horovod/horovod:0.28.1"], "horovod/horovod:0.28.1"),
        (["*/horovod:0*", "horovod/*:0*"], "*/horovod:0*"),
        (["other"], None),
    ],
)
def test_the_most_specific_wins_whatever_the_order(known: list[str], winner: str | None) -> None:
    assert patterns.best(known, "horovod/horovod:0.28.1") == winner
    assert patterns.best(reversed(known), "horovod/horovod:0.28.1") == winner
