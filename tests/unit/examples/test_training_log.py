# SPDX-License-Identifier: Apache-2.0
"""The demo reads in a launcher's log how training goes."""

from __future__ import annotations

from examples.training_log import Training


def progress(size: int, *hosts: str) -> str:
    named = ",".join(f'"{host}"' for host in hosts)
    return f'{{"springtide":"progress","at":"2030-01-02T03:04:05.678Z","size":{size},"hosts":[{named}],"step":1}}'


def after(*lines: str) -> Training:
    training = Training()
    for line in lines:
        training.read(line)
    return training


def test_steps_are_read() -> None:
    training = after("[0]<stdout>:step 40 of 480 loss 0.2500 size 2 samples/s 800")
    assert (training.step, training.last, training.loss, training.size, training.rate) == (40, 480, 0.25, 2, 800)
    assert training.losses == [(40, 0.25)]


def test_a_resize_is_a_change() -> None:
    change = Training().read("[0]<stdout>:from 2 ranks to 3 after step 41: 0.020 s without a step")
    assert str(change) == "2 → 3 workers at step 41: 20 ms without a step"


def test_a_death_is_a_change_that_costs_steps() -> None:
    training = after(
        "[0]<stdout>:step 85 of 480 loss 0.2000 size 3 samples/s 800",
        "[0]<stdout>:step 87 of 480 loss 0.1000 size 3 samples/s 800",
    )
    change = training.read("[0]<stdout>:back from step 87 to 85 with 2 ranks: 0.210 s without a step")
    assert str(change) == "2 workers go on from step 85: 2 steps lost, 210 ms without a step"
    assert training.changes == [change]
    assert training.losses == [(85, 0.2)]


def test_a_death_just_after_a_commit_costs_none() -> None:
    change = Training().read("[0]<stdout>:back from step 85 to 85 with 1 ranks: 0.210 s without a step")
    assert str(change) == "1 worker goes on from step 85: 0 steps lost, 210 ms without a step"


def test_the_end_is_an_accuracy() -> None:
    assert after("[0]<stdout>:step 480 accuracy 0.958 size 1").accuracy == 0.958


def test_a_host_joins_until_as_many_train_as_there_are() -> None:
    training = after(progress(1, "a.digits"), progress(1, "a.digits", "b.digits"))
    assert (training.hosts, training.coming) == (["a"], ["b"])
    training.read(progress(2, "a.digits", "b.digits"))
    assert (training.hosts, training.coming) == (["a", "b"], [])
    training.read(progress(1, "b.digits"))
    assert (training.hosts, training.coming) == (["b"], [])


def test_other_lines_are_only_kept() -> None:
    training = after("tiderun: b does not answer yet", "[1]<stderr>:step 1 of", "[b:0]<stdout>:loading")
    assert list(training.words) == ["tiderun: b does not answer yet", "[1]<stderr>:step 1 of", "[b:0]<stdout>:loading"]
    assert (training.changes, training.losses) == ([], [])
