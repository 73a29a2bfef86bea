# SPDX-License-Identifier: Apache-2.0
"""The document's command is one command; everything else arrives byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.manifests.submissions.commands import joined

DOCUMENT = """horovodrun
    -np $((${workers}*${gpus}))
    --min-np $((${minWorkers}*${gpus}))
    --max-np $((${maxWorkers}*${gpus}))
    --host-discovery-script /etc/edl/discover_hosts.sh
    python /examples/elastic/tensorflow2_mnist_elastic.py
    """


def test_the_command_of_the_document_is_one_line() -> None:
    command, lines_joined = joined(DOCUMENT)
    assert lines_joined
    assert command.split() == DOCUMENT.split()
    assert "\n" not in command


@pytest.mark.parametrize(
    ("written", "run"),
    [
        ("train\n-a\n", "train -a\n"),
        ("train\r\n  -a", "train   -a"),
        ("  train\n    -a\n    b\n  echo done", "  train     -a     b\n  echo done"),
        ("cd /code\ntrain\n  --lr 1\n  data\necho done", "cd /code\ntrain   --lr 1   data\necho done"),
        ("train 'a\nb'\n  -c", "train 'a\nb'   -c"),
        ("cat <<<word\n  -n", "cat <<<word   -n"),
        ("for i in 1 2; do\n  train\n    -a\n  echo $i\ndone", "for i in 1 2; do\n  train     -a\n  echo $i\ndone"),
        ("train ${#a} a#b\n -c", "train ${#a} a#b  -c"),
    ],
)
def test_options_continue_the_line_before_them(written: str, run: str) -> None:
    assert joined(written) == (run, True)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "\n",
        "-a",
        "\n-a",
        "echo a\necho b",
        "echo a\n  echo b",
        "train \\\n  -np 2 \\\n  python a.py",
        "cat > f <<EOF\n- a\n- b\nEOF\ntrain",
        "cat > f <<-'END'\n\t- a\n\tEND",
        "python -c '\nx = (1\n  - 2)\n'",
        'echo "a\n- b"',
        "echo 'unclosed\n- b",
        "train  # why\n  -a",
        "train;# why\n  -a",
        "echo a\n\n-b",
        "echo a\n# -b\n  # c",
    ],
)
def test_everything_else_is_left_as_it_is(command: str) -> None:
    assert joined(command) == (command, False)


def test_lines_after_a_comment_between_options_stay_lines() -> None:
    assert joined("train\n  -a\n  # b\n  -c").command == "train   -a\n  # b\n  -c"


@given(st.text(alphabet=st.characters(exclude_characters="-")))
def test_a_command_without_options_is_left_as_it_is(command: str) -> None:
    assert joined(command) == (command, False)


@given(st.text(alphabet="a -#'\"\\\r\n<E"))
def test_only_line_breaks_change(command: str) -> None:
    assert _without_blanks(joined(command).command) == _without_blanks(command)


def _without_blanks(command: str) -> str:
    return "".join(command.split())
