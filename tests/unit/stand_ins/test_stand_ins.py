# SPDX-License-Identifier: Apache-2.0
"""Stand-ins say what they are, learn something, and take the flags of what they stand in for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from springtide import stand_ins
from springtide.stand_ins import digits, network, tf_cnn_benchmarks

FOLDER = Path(stand_ins.__path__[0])
DOCUMENTED = ["--model=resnet101", "--batch_size=64", "--variable_update=horovod"]


def run(program: str, *arguments: str, **variables: str) -> str:
    """What it prints; it is started as a script, as pods do."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    command = [sys.executable, str(FOLDER / f"{program}.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=50, check=True).stdout


def test_the_digits_are_all_there_and_their_licence_is_beside_them() -> None:
    pixels, labels = digits.load()
    assert pixels.shape == (1797, 64)
    assert (pixels.min(), pixels.max()) == (0, 1)
    assert sorted(set(labels.tolist())) == list(range(10))
    seen, unseen = digits.parted()
    assert (len(seen.labels), len(unseen.labels)) == (1437, 360)
    assert "CC BY 4.0" in (FOLDER / "digits.txt").read_text()


def test_the_network_learns_from_a_gradient_and_nothing_from_no_samples() -> None:
    pixels, labels = digits.load()
    weights = network.fresh()
    losses = []
    for _ in range(5):
        gradient, loss = network.learned(weights, pixels, labels)
        weights = {name: weight - 0.2 * gradient[name] for name, weight in weights.items()}
        losses.append(loss)
    assert all(later < earlier for earlier, later in pairwise(losses))
    gradient, loss = network.learned(weights, pixels[:0], labels[:0])
    assert loss == 0
    assert not any(each.any() for each in gradient.values())


@pytest.mark.parametrize("program", ["mnist", "mnist_elastic"])
def test_mnist_says_that_it_is_a_stand_in_and_its_loss_falls(program: str) -> None:
    first, *lines = run(program, SPRINGTIDE_SECONDS="0").splitlines()
    assert first.startswith(f"{program}.py: a stand-in that comes with Springtide, for Horovod's example")
    assert "TensorFlow and MNIST are not used" in first
    assert lines[0].startswith("rank 0 of 1 on ")
    steps = [re.fullmatch(r"Step #(\d+)\tLoss: (\d\.\d{6})", line) for line in lines[1:-1]]
    assert all(steps)
    losses = [float(step[2]) for step in steps if step]
    assert losses[-1] < losses[0] / 4
    assert float(re.findall(r"([\d.]+)% of the digits", lines[-1])[0]) > 90


def test_the_benchmark_has_the_documents_header_and_last_line_and_its_loss_falls() -> None:
    lines = run("tf_cnn_benchmarks", *DOCUMENTED, "--num_gpus=1", "--use_fp16").splitlines()
    assert lines[0].startswith("tf_cnn_benchmarks.py: a stand-in that comes with Springtide")
    for head in ("TensorFlow:  not used", "Model:       resnet101", "Mode:        training", "Batch size:  64 global"):
        assert any(line.startswith(head) for line in lines), head
    assert re.fullmatch(r"Total images/sec: \d+\.\d\d", lines[-1])
    steps = [match for line in lines if (match := re.fullmatch(r"(\d+)\timages/sec: [\d.]+\t(\d+\.\d{3})", line))]
    assert [int(step[1]) for step in steps] == [1, *range(10, 101, 10)]
    assert float(steps[-1][2]) < float(steps[0][2]) / 2


@pytest.mark.parametrize("wrong", ["--batch_size=0", "--no_such_flag=1"])
def test_the_benchmark_refuses_what_makes_no_sense(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        tf_cnn_benchmarks.asked([wrong])
    assert wrong.partition("=")[0] in capsys.readouterr().err
