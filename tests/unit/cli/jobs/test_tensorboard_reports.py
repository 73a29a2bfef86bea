# SPDX-License-Identifier: Apache-2.0
"""What a process in the background reports to the command that has started it."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from springtide.cli.errors import Failure
from springtide.cli.jobs.tensorboard import tensorboard_processes
from springtide.cli.jobs.tensorboard.tensorboard_processes import Pipe, Started
from springtide.messages import Text, text

STARTS = text("TensorBoard starts.")
WAITS = text("TensorBoard waits: {why}", why="no such image")


def heard(said: Callable[[Pipe], None], wait: float = 30.0) -> tuple[Started, list[Text]]:
    reading, writing = os.pipe()
    pipe, waits = Pipe(writing), list[Text]()
    try:
        said(pipe)
        reports = tensorboard_processes.reports(reading, wait)
        return tensorboard_processes.heard(reports, waits.append), waits
    finally:
        pipe.close()
        os.close(reading)


def test_it_is_listened_to_until_tensorboard_answers() -> None:
    def said(pipe: Pipe) -> None:
        pipe.listening(4321)
        for why in (STARTS, STARTS, WAITS, STARTS):
            pipe.waits(why, needs_help=False)
        pipe.answers()

    assert heard(said) == (Started("http://127.0.0.1:4321", None), [STARTS, WAITS, STARTS])


def test_nobody_waits_for_what_somebody_has_to_do_first() -> None:
    def said(pipe: Pipe) -> None:
        pipe.listening(4321)
        pipe.waits(WAITS, needs_help=True)
        pipe.answers()  # nobody hears it any more

    assert heard(said) == (Started("http://127.0.0.1:4321", WAITS), [WAITS])


def test_when_the_time_is_up_there_is_an_address_all_the_same() -> None:
    assert heard(lambda pipe: pipe.listening(4321), 0.0) == (Started("http://127.0.0.1:4321", STARTS), [])


def test_a_failure_is_that_of_the_process() -> None:
    failure = Failure(text("Port {port} cannot be used.", port=80), hint=text("take any that is free"))
    with pytest.raises(Failure) as raised:
        heard(lambda pipe: pipe.failed(failure))
    assert raised.value.lines() == failure.lines()


def test_a_process_that_ends_without_a_word_is_a_failure() -> None:
    with pytest.raises(Failure, match="has ended"):
        heard(Pipe.close)


def test_a_command_that_is_gone_does_not_disturb_the_process() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    pipe = Pipe(writing)
    pipe.listening(4321)
    pipe.answers()


def test_the_process_is_led_to_the_same_cluster() -> None:
    options = tensorboard_processes.options("bert", "team", kubeconfig="a.yaml")
    assert options == ["--namespace=team", "--kubeconfig=a.yaml", "--", "bert"]
