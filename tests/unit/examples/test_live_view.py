# SPDX-License-Identifier: Apache-2.0
"""Lines of a live picture fit into the terminal, colours or not."""

from __future__ import annotations

import re

import pytest
from examples.live_view import View, cut

RED, PLAIN = "\x1b[31m", "\x1b[0m"


@pytest.mark.parametrize("line", ["0123456789", f"{RED}01234{PLAIN}56789", f"0123456{RED}789{PLAIN}"])
@pytest.mark.parametrize("width", [1, 5, 7, 9])
def test_what_is_too_long_is_cut_and_its_colours_end(line: str, width: int) -> None:
    short = cut(line, width)
    assert re.sub(r"\x1b\[\d*m", "", short) == "0123456789"[: width - 1] + "…"
    assert short.count("\x1b") == line.count("\x1b")


def test_what_fits_stays() -> None:
    assert cut(f"{RED}0123{PLAIN}", 4) == f"{RED}0123{PLAIN}"


def test_where_there_is_no_terminal_only_words_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    view = View()
    view.draw(["a picture"])
    view.say("$ tide up")
    assert re.fullmatch(r" +0\.\d s  \$ tide up\n", capsys.readouterr().out)
