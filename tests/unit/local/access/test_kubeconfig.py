# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from springtide.kube import kubeconfig as reading
from springtide.local.access import kubeconfig
from springtide.local.access.pki import KeyPair

ENTRY = kubeconfig.Entry("tide", "https://127.0.0.1:6443", b"CA", KeyPair(b"CERT", b"KEY", Path("unused")))

USERS_OWN = """\
apiVersion: v1
kind: Config
preferences: {colors: true}
clusters:
- name: work
  cluster: {server: "https://work:6443", insecure-skip-tls-verify: true}
- name: tide
  cluster: {server: "https://old:1"}
users:
- name: me
  user: {auth-provider: {name: oidc, config: {expiry: 2024-01-01T00:00:00Z}}}
contexts:
- name: work
  context: {cluster: work, user: me, namespace: team}
current-context: work
"""


def test_the_own_kubeconfig_is_private_and_complete(tmp_path: Path) -> None:
    path = tmp_path / "data" / "kubeconfig"
    kubeconfig.write(path, ENTRY)
    config = yaml.safe_load(path.read_text())
    assert path.stat().st_mode & 0o777 == 0o600
    assert config["current-context"] == "tide"
    assert config["clusters"][0]["cluster"]["certificate-authority-data"] == "Q0E="
    assert config["users"][0]["user"] == {"client-certificate-data": "Q0VSVA==", "client-key-data": "S0VZ"}


def test_merging_replaces_by_name_and_keeps_everything_else(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(USERS_OWN)
    kubeconfig.merge_into(path, ENTRY)
    config = yaml.load(path.read_text(), Loader=yaml.BaseLoader)
    assert [item["name"] for item in config["clusters"]] == ["work", "tide"]
    assert config["clusters"][1]["cluster"]["server"] == "https://127.0.0.1:6443"
    assert [item["name"] for item in config["users"]] == ["me", "tide-admin"]
    assert [item["name"] for item in config["contexts"]] == ["work", "tide"]
    assert config["contexts"][0]["context"]["namespace"] == "team"
    assert config["current-context"] == "tide"
    assert config["preferences"] == {"colors": "true"}
    assert config["users"][0]["user"]["auth-provider"]["config"]["expiry"] == "2024-01-01T00:00:00Z"


def test_merging_twice_changes_nothing_more(tmp_path: Path) -> None:
    path = tmp_path / "config"
    kubeconfig.merge_into(path, ENTRY)
    first = path.read_text()
    kubeconfig.merge_into(path, ENTRY)
    assert path.read_text() == first


def test_a_linked_kubeconfig_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "dotfiles", tmp_path / "config"
    target.write_text(USERS_OWN)
    link.symlink_to(target)
    kubeconfig.merge_into(link, ENTRY)
    assert link.is_symlink()
    assert "tide-admin" in target.read_text()


def test_a_file_that_is_no_kubeconfig_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("- just\n- a list\n")
    with pytest.raises(ValueError, match="not a kubeconfig"):
        kubeconfig.merge_into(path, ENTRY)
    assert path.read_text() == "- just\n- a list\n"


@pytest.mark.timeout(10)
def test_nobody_waits_for_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config")
    assert not kubeconfig.remove_from(tmp_path / "config", "tide", b"CA")


OURS = "clusters: [{name: tide, cluster: {certificate-authority-data: Q0E=}}]\n"
LEADS = "contexts: [{name: tide, context: {cluster: tide, user: u}}]\n"
ODD = {
    "no YAML": "{[",
    "a number": "clusters: 5",
    "a text": "contexts: abc",
    "texts": "users: [a, b]",
    "nothing": "clusters: [null]",
    "users that are texts": f"{OURS}{LEADS}users: [u]",
    "contexts that are texts": f"{OURS}contexts: [u]",
    "deep": "[" * 100_000,
    "deep inside": "extensions: " + "[" * 3000 + "]" * 3000,
    "an object": "!!python/object/apply:os.abort []",
    "another encoding": "clusters: \udcff",
    "large": "# " + "x" * 10_000_000,
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_a_file_of_odd_content_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text, errors="surrogateescape")
    before = path.read_bytes()
    with pytest.raises((ValueError, yaml.YAMLError)):
        kubeconfig.merge_into(path, ENTRY)
    with pytest.raises((ValueError, yaml.YAMLError)):
        kubeconfig.remove_from(path, "tide", b"CA")
    with pytest.raises((ValueError, yaml.YAMLError)):
        reading.read(str(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("user", ["[1]", "{a: b}", "null", "5"], ids=["a list", "a mapping", "nothing", "a number"])
def test_a_user_that_has_no_name_is_no_obstacle(tmp_path: Path, user: str) -> None:
    path = tmp_path / "config"
    path.write_text(f"{OURS}contexts: [{{name: x, context: {{cluster: tide, user: {user}}}}}]\n")
    assert kubeconfig.remove_from(path, "tide", b"CA")


@pytest.mark.parametrize("field", ["certificate-authority", "certificate-authority-data"])
@pytest.mark.parametrize("value", ["[1]", "5", "{a: b}"])
def test_a_certificate_that_is_no_text_is_named(tmp_path: Path, field: str, value: str) -> None:
    path = tmp_path / "config"
    path.write_text(f"clusters: [{{name: tide, cluster: {{{field}: {value}}}}}]\n")
    with pytest.raises(ValueError, match=f"whose {field} is not text"):
        reading.read(str(path))


def test_removing_undoes_merging(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(USERS_OWN.replace("- name: tide\n", "- name: other\n"))
    before = yaml.load(path.read_text(), Loader=yaml.BaseLoader)
    kubeconfig.merge_into(path, ENTRY)
    assert kubeconfig.remove_from(path, "tide", b"CA")
    after = yaml.load(path.read_text(), Loader=yaml.BaseLoader)
    assert after == before | {"current-context": ""}
    assert not kubeconfig.remove_from(path, "tide", b"CA")


@pytest.mark.parametrize(
    ("name", "authority"),
    [("tide", b"ANOTHER CA"), ("other", b"CA")],
    ids=["a cluster of that name made anew", "another cluster"],
)
def test_an_entry_of_another_cluster_is_not_removed(tmp_path: Path, name: str, authority: bytes) -> None:
    path = tmp_path / "config"
    kubeconfig.merge_into(path, ENTRY)
    before = path.read_text()
    assert not kubeconfig.remove_from(path, name, authority)
    assert path.read_text() == before
    assert not kubeconfig.remove_from(tmp_path / "not-there", name, authority)
    assert not (tmp_path / "not-there").exists()


def test_renamed_contexts_go_with_the_cluster_and_shared_users_stay() -> None:
    config = kubeconfig.as_config(ENTRY)
    config["contexts"] += [
        {"name": "renamed", "context": {"cluster": "tide", "user": "tide-admin"}},
        {"name": "elsewhere", "context": {"cluster": "work", "user": "tide-admin"}},
        {"name": "odd", "context": None},
    ]
    rest = kubeconfig.without(config | {"current-context": "elsewhere"}, "tide", b"CA")
    assert rest is not None
    assert [item["name"] for item in rest["contexts"]] == ["elsewhere", "odd"]
    assert [item["name"] for item in rest["users"]] == ["tide-admin"]
    assert (rest["clusters"], rest["current-context"]) == ([], "elsewhere")
