# SPDX-License-Identifier: Apache-2.0
"""The syntax of flags. That errors are in Arena's words is shown beside its own program, in tests/e2e."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.cli.flags.pflag import Flag, FlagError, HelpWanted, Kind, check_required, parsed, quoted

FLAGS = (
    Flag("name", Kind.STRING, required=True),
    Flag("workers", Kind.INT, default=1),
    Flag("gang", Kind.BOOL, short="g"),
    Flag("all", Kind.BOOL, short="A"),
    Flag("timeout", Kind.DURATION, short="t", default=60.0),
    Flag("env", Kind.STRINGS, short="e"),
    Flag("working-dir", Kind.STRING, old_names=("workingDir",), default="/root"),
)


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ([], {"name": "", "workers": 1, "gang": False, "timeout": 60.0, "env": (), "working-dir": "/root"}),
        (["--name=a"], {"name": "a"}),
        (["--name", "a"], {"name": "a"}),
        (["--name", "--gang"], {"name": "--gang", "gang": False}),
        (["--name="], {"name": ""}),
        (["--name=a=b"], {"name": "a=b"}),
        (["--gang"], {"gang": True}),
        (["--gang=false"], {"gang": False}),
        (["-g=T"], {"gang": True}),
        (["-gA"], {"gang": True, "all": True}),
        (["-e", "A=1", "--env=B=2,3", "-eC=4", "-e=D=5"], {"env": ("A=1", "B=2,3", "C=4", "D=5")}),
        (["-ge", "A=1"], {"gang": True, "env": ("A=1",)}),
        (["--workers=0x10"], {"workers": 16}),
        (["--workers=010"], {"workers": 8}),
        (["--workers=-3"], {"workers": -3}),
        (["-t", "1h1m1.5s"], {"timeout": 3661.5}),
        (["-t500ms"], {"timeout": 0.5}),
        (["--workingDir=/x"], {"working-dir": "/x"}),
    ],
)
def test_flags_have_the_values_that_stand_in_the_words(words: list[str], values: dict[str, object]) -> None:
    found = parsed(FLAGS, words).values
    assert {name: found[name] for name in values} == values


def test_arguments_stand_between_flags_and_after_two_dashes() -> None:
    found = parsed(FLAGS, ["a", "--name=n", "b", "-", "--", "--gang", "-x"])
    assert found.arguments == ["a", "b", "-", "--gang", "-x"]
    assert found.after_dash == ["--gang", "-x"]
    assert found.values["gang"] is False


def test_old_names_are_reported_once_each() -> None:
    found = parsed(FLAGS, ["--workingDir=/x", "--workingDir=/y"])
    assert found.values["working-dir"] == "/y"
    assert found.warnings == ["Flag --workingDir has been deprecated, please use --working-dir instead"] * 2


@pytest.mark.parametrize("words", [["-h"], ["--help"], ["-gh"], ["a", "--name=x", "--help"]])
def test_help_is_asked_for(words: list[str]) -> None:
    with pytest.raises(HelpWanted):
        parsed(FLAGS, words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--nope=1"], "unknown flag: --nope"),
        (["-gx"], "unknown shorthand flag: 'x' in -x"),
        (["--name"], "flag needs an argument: --name"),
        (["-ge"], "flag needs an argument: 'e' in -e"),
        (["--=1"], "bad flag syntax: --=1"),
        (["---"], "bad flag syntax: ---"),
        (["-t", "1"], 'invalid argument "1" for "-t, --timeout" flag: time: missing unit in duration "1"'),
        (["-t", "1x"], 'invalid argument "1x" for "-t, --timeout" flag: time: unknown unit "x" in duration "1x"'),
        (["-t", ""], 'invalid argument "" for "-t, --timeout" flag: time: invalid duration ""'),
        (
            ["--workers=1_"],
            'invalid argument "1_" for "--workers" flag: strconv.ParseInt: parsing "1_": invalid syntax',
        ),
    ],
)
def test_a_wrong_word_is_an_error(words: list[str], message: str) -> None:
    with pytest.raises(FlagError) as error:
        parsed(FLAGS, words)
    assert str(error.value) == message


def test_required_flags_are_required() -> None:
    with pytest.raises(FlagError, match=r'required flag\(s\) "name" not set'):
        check_required(FLAGS, parsed(FLAGS, ["--workers=1"]))
    check_required(FLAGS, parsed(FLAGS, ["--name="]))


@given(st.text())
def test_any_value_arrives_as_it_is(value: str) -> None:
    assert parsed(FLAGS, [f"--name={value}", "--env", value, "--", value]).values["name"] == value
    assert parsed(FLAGS, ["--env", value]).values["env"] == (value,)
    assert parsed(FLAGS, ["--", value]).arguments == [value]


@given(st.lists(st.text(min_size=1)))
def test_any_words_are_parsed_or_refused(words: list[str]) -> None:
    try:
        parsed(FLAGS, words)
    except (FlagError, HelpWanted):
        return


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a b", '"a b"'), ('"', '"\\""'), ("\n\t\\", '"\\n\\t\\\\"'), ("é中", '"é中"'), ("\x00\x7f", '"\\x00\\x7f"')],
)
def test_text_is_quoted_as_go_does_it(text: str, shown: str) -> None:
    assert quoted(text) == shown
