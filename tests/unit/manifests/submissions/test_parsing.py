# SPDX-License-Identifier: Apache-2.0
"""Flags become parts of a submission, or an error that names the flag and shows how to write it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.manifests.submissions import parsing
from springtide.manifests.submissions.problems import Problem
from springtide.manifests.submissions.submission import Claim, ConfigFile, HostDirectory, Toleration
from springtide.messages import Language, shown


def test_the_value_of_a_pair_is_all_that_follows_the_first_equals_sign() -> None:
    assert parsing.pairs("--env", ["A=1", "B=x,y", "C=d=e", "D=", "A=2"]) == {"A": "2", "B": "x,y", "C": "d=e", "D": ""}


def test_claims_have_a_path_each() -> None:
    found = parsing.claims("--data", ["data:/data", "data.2_x-y:/more/"])
    assert found == (Claim(name="data", path="/data"), Claim(name="data.2_x-y", path="/more/"))


def test_a_host_directory_is_mounted_at_its_own_path_or_at_another() -> None:
    found = parsing.host_directories("--data-dir", ["/mnt/a", "/mnt/b:/b"])
    assert found == (HostDirectory(host="/mnt/a", path="/mnt/a"), HostDirectory(host="/mnt/b", path="/b"))


@pytest.mark.parametrize(
    ("written", "toleration"),
    [
        ("all", Toleration(operator="Exists")),
        ("a=b:NoSchedule,Equal", Toleration(key="a", value="b", effect="NoSchedule", operator="Equal")),
        ("a=:NoExecute,Exists", Toleration(key="a", effect="NoExecute", operator="Exists")),
        ("a=:,Exists", Toleration(key="a", operator="Exists")),
    ],
)
def test_tolerations_have_four_parts_or_are_all(written: str, toleration: Toleration) -> None:
    assert parsing.tolerations("--toleration", [written]) == (toleration,)


def test_tolerations_after_all_count_too() -> None:
    assert len(parsing.tolerations("--toleration", ["all", "a=b:NoSchedule,Equal"])) == 2


def test_devices_have_quantities() -> None:
    assert parsing.devices("--device", ["amd.com/gpu=1", "rdma/hca=2k"]) == {"amd.com/gpu": "1", "rdma/hca": "2k"}


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("0", 0), ("30s", 30), ("1h30m", 5400), ("1.5h", 5400), ("+2m", 120), ("1500ms", 1), (".5m", 30), ("1h1us", 3600)],
)
def test_durations_are_gos(written: str, seconds: int) -> None:
    assert parsing.duration("--running-timeout", written) == seconds


@pytest.mark.parametrize(
    ("written", "local", "container"),
    [("a.conf", "a.conf", ""), ("~/a:/etc/b", "~/a", "/etc/b"), ("/a/b", "/a/b", "")],
)
def test_config_files_have_a_path_here_and_one_there(written: str, local: str, container: str) -> None:
    assert parsing.config_file_paths("--config-file", written) == (local, container)


def test_a_config_file_is_mounted_with_its_directory() -> None:
    assert parsing.config_file("/etc//train/a.conf", "x") == ConfigFile(
        directory="/etc/train", name="a.conf", content="x"
    )


def _many(parse: Callable[[str, list[str]], Any]) -> Callable[[str, str], Any]:
    return lambda flag, item: parse(flag, item.split(" "))


WRONG = [
    (_many(parsing.pairs), "--env", "A", "--env: 'A' does not have the form KEY=VALUE"),
    (_many(parsing.pairs), "--label", "=b", "--label: '=b' does not have the form KEY=VALUE"),
    (_many(parsing.claims), "--data", "data", "dataset data has incorrect format, should like data_name:/data0"),
    (
        _many(parsing.claims),
        "--data",
        "data:/a:ro",
        "dataset data:/a:ro has incorrect format, should like data_name:/data0",
    ),
    (_many(parsing.claims), "--data", "data:/a data:/b", "your PVC name: data is repeated, please check it"),
    (_many(parsing.claims), "--data", "data:a", "invalid dataDir: 'a' must be absolute"),
    (_many(parsing.claims), "--data", "data://", "invalid specification: dataDir can't be '/'"),
    (_many(parsing.claims), "--data", "data:/a/..", "invalid specification: dataDir can't be '/'"),
    (_many(parsing.claims), "--data", "d:/a", "--data: 'd' is no name of a claim"),
    (_many(parsing.host_directories), "--data-dir", "/a:/b:/c", "invalid DataDir: '/a:/b:/c'"),
    (_many(parsing.host_directories), "--data-dir", ":/b", "invalid DataDir: ':/b'"),
    (_many(parsing.host_directories), "--data-dir", "/a:", "invalid dataDir: '' must be absolute"),
    (_many(parsing.host_directories), "--data-dir", "a", "invalid dataDir: 'a' must be absolute"),
    (_many(parsing.tolerations), "--toleration", "a=b", "'a=b' does not have the form KEY=VALUE:EFFECT,OPERATOR"),
    (_many(parsing.tolerations), "--toleration", "a:b=c,d", "does not have the form KEY=VALUE:EFFECT,OPERATOR"),
    (_many(parsing.tolerations), "--toleration", "a=b:Never,Equal", "--toleration: 'Never' is none of its values"),
    (_many(parsing.tolerations), "--toleration", "a=b:NoSchedule,", "--toleration: '' is none of its values"),
    (_many(parsing.tolerations), "--toleration", "a=b:,Exists", "with the operator Exists a toleration has no value"),
    (_many(parsing.devices), "--device", "amd.com/gpu", "invalid device 'amd.com/gpu', refer to amd.com/gpu=1"),
    (_many(parsing.devices), "--device", "/gpu=1", "device name '/gpu' is not a qualified name"),
    (
        _many(parsing.devices),
        "--device",
        "nvidia.com/gpu=2",
        "please use '--gpus 2' instead of '--device nvidia.com/gpu=2'",
    ),
    (_many(parsing.devices), "--device", "amd.com/gpu=many", "device value 'amd.com/gpu=many' is not a valid quantity"),
    (parsing.duration, "--running-timeout", "5", "--running-timeout: '5' does not have the form 1h30m"),
    (parsing.duration, "--running-timeout", "", "does not have the form 1h30m"),
    (parsing.duration, "--running-timeout", "5 m", "does not have the form 1h30m"),
    (parsing.duration, "--running-timeout", "-5m", "does not have the form 1h30m"),
    (parsing.config_file_paths, "--config-file", "a:/b:/c", "does not have the form LOCAL[:CONTAINER]"),
    (parsing.config_file_paths, "--config-file", "a:b", "the path of file in container must be absolute path"),
]


@pytest.mark.parametrize(("parse", "flag", "written", "arena"), WRONG)
def test_what_cannot_be_read_names_the_flag(
    parse: Callable[[str, str], Any], flag: str, written: str, arena: str
) -> None:
    with pytest.raises(Problem) as raised:
        parse(flag, written)
    problem = raised.value
    assert problem.flag == flag
    assert arena in problem.arena
    assert problem.arena.startswith("failed to validate command args: ")
    assert shown(problem.what, Language.ENGLISH) == f"{flag} is not valid"
    assert shown(problem.cause, Language.ENGLISH)
    assert shown(problem.hint, Language.ENGLISH)


@given(st.text())
def test_any_text_is_read_or_refused(written: str) -> None:
    for parse in {parse for parse, *_ in WRONG}:
        with suppress(Problem):
            parse("--flag", written)
