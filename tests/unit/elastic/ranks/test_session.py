# SPDX-License-Identifier: Apache-2.0
"""A rank's link to a launcher that is played: what it does when it is told of a death."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from springtide.elastic.protocol import wire
from springtide.elastic.protocol.rank_messages import Finished
from springtide.elastic.ranks.session import LauncherLostError, Place, Session

SECRET = b"s" * wire.SECRET


class Launcher:
    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as door:
            answering = threading.Thread(target=self._answer, args=(door,))
            answering.start()
            self.session = Session(Place((door.getsockname(),), 1, "a", 0, SECRET))
            answering.join()

    def _answer(self, door: socket.socket) -> None:
        self.link, _ = door.accept()
        wire.answer(self.link, SECRET)

    def say(self, type_: str, **words: Any) -> None:
        self.link.sendall(wire.encode(type_, **words))

    def regroup(self, generation: int) -> None:
        members = [[1, 0, "a", 0, []]]
        self.say("regroup", generation=generation, members=members, source=0, fresh=generation == 1, hold=False)

    def regrouped(self, generation: int) -> None:
        self.regroup(generation)
        assert self.session.soon_superseded()


@pytest.fixture
def launcher() -> Iterator[Launcher]:
    found = Launcher()
    yield found
    found.link.shutdown(socket.SHUT_RDWR)
    for thread in threading.enumerate():
        if thread.name in ("tide-listen", "tide-beat"):
            thread.join()
    found.link.close()
    found.session._link.close()
    found.session.connections.close()


def test_a_death_breaks_the_group_before_and_not_the_one_after_it(launcher: Launcher) -> None:
    """However late the thread comes that is to break it."""
    session, broken, second = launcher.session, list[int](), threading.Event()
    launcher.regroup(1)
    assert session.begin().generation == 1
    session.on_break(lambda: broken.append(1))
    with session._breaking:
        launcher.regrouped(2)
        assert session.recover(1, 0, "somebody died").generation == 2
        session.on_break(second.set)
    launcher.regrouped(3)
    assert second.wait(60)
    assert not broken


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_group_that_cannot_be_broken_does_not_make_anybody_wait(launcher: Launcher) -> None:
    def interrupt() -> None:
        raise RuntimeError("another library's")

    launcher.regroup(1)
    launcher.session.begin()
    launcher.session.on_break(interrupt)
    launcher.regrouped(2)

    def recovered() -> None:
        while True:
            launcher.session.recover(1, 0, "somebody died")

    with pytest.raises(LauncherLostError):
        recovered()


def test_after_the_first_run_nobody_waits_for_those_that_are_left(launcher: Launcher) -> None:
    launcher.regroup(1)
    launcher.session.begin()
    launcher.session.send(Finished())
    with pytest.raises(LauncherLostError, match="only the first run"):
        launcher.session.recover(1, 0, "somebody died")
