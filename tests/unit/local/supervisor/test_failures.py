# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno

import pytest

from springtide.local.supervisor import failures
from springtide.local.supervisor.failures import FailedError, Up


def test_a_server_that_is_up_names_its_port() -> None:
    assert failures.heard(failures.up(6443)) == Up(6443)
    assert failures.heard(failures.up(6443, ["one", "two"])) == Up(6443, ("one", "two"))


@pytest.mark.parametrize("said", [b"", b"Traceback (most recent call last)", b'{"up"'])
def test_a_server_may_die_without_a_word(said: bytes) -> None:
    assert failures.heard(said) is None


def test_an_error_of_the_system_stays_one() -> None:
    heard = failures.heard(failures.failed(OSError(errno.EACCES, "Permission denied", "/d/state.db")))
    assert isinstance(heard, OSError)
    assert (heard.errno, heard.strerror, heard.filename) == (errno.EACCES, "Permission denied", "/d/state.db")


def test_other_errors_keep_their_words() -> None:
    heard = failures.heard(failures.failed(ValueError("state.db is damaged")))
    assert isinstance(heard, FailedError)
    assert str(heard) == "state.db is damaged"
