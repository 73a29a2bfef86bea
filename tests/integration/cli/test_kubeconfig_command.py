# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.integration.cli.conftest import Tide, in_home

THEIRS = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "work",
    "contexts": [{"name": "work", "context": {"cluster": "work", "user": "me"}}],
    "clusters": [{"name": "work", "cluster": {"server": "https://work.example:6443"}}],
    "users": [{"name": "me", "user": {"token": "secret"}}],
}


@pytest.fixture(scope="module")
def one_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tide]:
    with in_home(tmp_path_factory.mktemp("home")) as tide:
        tide.ok("up", "-d", "--port", "0")
        yield tide


@pytest.fixture
def running(one_cluster: Tide) -> Tide:
    """The same cluster for all tests here, but a user without any kubeconfig for each."""
    one_cluster.environment.pop("KUBECONFIG", None)
    shutil.rmtree(one_cluster.home / ".kube", ignore_errors=True)
    return one_cluster


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def test_it_is_printed_as_it_stands(running: Tide) -> None:
    assert running.ok("kubeconfig") == running.place().kubeconfig.read_text()


def test_it_is_merged_into_a_new_file_of_the_user_alone(running: Tide) -> None:
    running.ok("kubeconfig", "--merge")
    path = running.home / ".kube/config"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load(path) == load(running.place().kubeconfig)


def test_merging_keeps_what_is_there_and_says_how_to_go_back(running: Tide, tmp_path: Path) -> None:
    first, second = tmp_path / "missing", tmp_path / "config"
    second.write_text(yaml.safe_dump(THEIRS))
    running.environment["KUBECONFIG"] = f"{first}:{second}"
    said = running.ok("kubeconfig", "--merge")
    assert said.splitlines() == [
        f"Added 'springtide' to {second} and made it the current context.",
        "Go back with: kubectl config use-context work",
    ]
    merged = load(second)
    assert merged["current-context"] == "springtide"
    assert [entry["name"] for entry in merged["clusters"]] == ["work", "springtide"]
    assert merged["users"][0] == THEIRS["users"][0]
    running.ok("kubeconfig", "--merge")
    assert load(second) == merged


def test_an_entry_of_another_cluster_is_not_overwritten(running: Tide, tmp_path: Path) -> None:
    theirs = tmp_path / "config"
    theirs.write_text(yaml.safe_dump(THEIRS).replace("work", "springtide"))
    running.environment["KUBECONFIG"] = str(theirs)
    before = theirs.read_text()
    assert "has an entry 'springtide' for https://springtide.example:6443" in running.error("kubeconfig", "--merge")
    assert theirs.read_text() == before


def test_the_cluster_s_own_file_is_not_merged_into_itself_but_into_the_default_one(running: Tide) -> None:
    own = running.place().kubeconfig
    before = own.read_text()
    running.environment["KUBECONFIG"] = str(own)
    said = running.ok("kubeconfig", "--merge")
    assert f" {running.home / '.kube/config'} and made it the current context.\n" in said
    assert "This shell does not use it, because KUBECONFIG names another file: unset KUBECONFIG\n" in said
    assert own.read_text() == before


@pytest.mark.parametrize("content", ["- a\n- list\n", "{ not yaml", "contexts: [text]\n"])
def test_a_file_that_is_no_kubeconfig_stays_as_it_is(running: Tide, tmp_path: Path, content: str) -> None:
    theirs = tmp_path / "config"
    theirs.write_text(content)
    running.environment["KUBECONFIG"] = str(theirs)
    assert f"{theirs} cannot be read as a kubeconfig" in running.error("kubeconfig", "--merge")
    assert theirs.read_text() == content


def test_a_cluster_made_anew_asks_to_renew_the_merged_entry(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    tide.ok("kubeconfig", "--merge")
    tide.ok("down")
    assert "Or add it to your own kubeconfig" in tide.ok("up", "-d")
    tide.ok("down")
    shutil.rmtree(tide.place().path)
    assert f"Renew its entry in {tide.home}/.kube/config: tide kubeconfig --merge" in tide.ok("up", "-d", "--port=0")
