# SPDX-License-Identifier: Apache-2.0
"""The examples as jobs on the embedded cluster: resized by stock kubectl while they train, and run to their end."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from tests.e2e_elastic.examples import Example, check_no_step_was_lost, created
from tests.programs.world import Cluster

pytestmark = pytest.mark.timeout(500)
Space = Callable[..., Cluster]


def resized(job: Example) -> str:
    """From two to three, to one, and to two, by patches and by `scale`; what the launcher has said in all."""
    job.until_size(2)
    job.resize(3)
    job.until_size(3)
    job.cluster.kubectl("scale", "mpijob", job.name, "--replicas=1")
    job.until_size(1)
    job.resize(2)
    job.until_size(2)
    return job.finish()


def test_numpy(space: Space) -> None:
    log = resized(created(space("digits"), "digits"))
    (last,) = set(re.findall(r"step \d+ of (\d+)", log))
    assert check_no_step_was_lost(log)[-1][0] <= int(last)
    check_accuracy(log, last)


def test_pytorch_ddp_over_ssh(space: Space) -> None:
    log = resized(created(space("torch"), "pytorch_ddp"))
    assert check_no_step_was_lost(log, every=10)[-1][0] == 360
    check_accuracy(log, "360")


def test_pytorch_with_horovods_names(space: Space) -> None:
    log = resized(created(space("torch"), "pytorch_mnist_elastic"))
    check_end(log, check_no_step_was_lost(log, every=10))


def test_tensorflow_with_horovods_names(space: Space) -> None:
    log = resized(created(space("tensorflow"), "tensorflow2_mnist_elastic"))
    steps = check_no_step_was_lost(log, every=10)
    check_end(log, steps)
    sizes = [2, *(size for _, size in steps)]
    fewest, most = (10 * sum(choose(pair) for pair in pairwise(sizes)) for choose in (min, max))
    assert fewest - 30 <= 800 <= most + 30, "all batches were trained, by whoever was there"


def check_accuracy(log: str, step: str) -> None:
    found = re.search(rf"step {step} accuracy (\S+) size 2$", log, re.MULTILINE)
    assert found, log
    assert float(found[1]) > 0.9


def check_end(log: str, steps: list[tuple[int, int]]) -> None:
    last = re.search(r"done after (\d+) steps$", log, re.MULTILINE)
    assert last, log
    assert 0 <= int(last[1]) - steps[-1][0] < 10
