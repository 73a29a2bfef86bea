# SPDX-License-Identifier: Apache-2.0
"""The built-in kubectl's own head: command lines, kubeconfigs, tables. What it does to pods is tested with pods."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from springtide.local.runtime import kubectl
from springtide.local.runtime.kubectl import Asked, Failed, read_config


@pytest.mark.parametrize(
    ("line", "words", "values", "switches"),
    [
        ("exec pod -- ls -l", ["exec", "pod", "ls", "-l"], {}, ""),
        ("exec pod ls -l -n x", ["exec", "pod", "ls", "-l", "-n", "x"], {}, ""),
        ("exec -it -n ns pod -c main -- sh", ["exec", "pod", "sh"],
         {"namespace": "ns", "container": "main"}, "stdin tty"),
        ("-n ns exec pod --container=main -- /bin/sh -c x", ["exec", "pod", "/bin/sh", "-c", "x"],
         {"namespace": "ns", "container": "main"}, ""),
        ("exec -iq --tty=false pod -- a -- b", ["exec", "pod", "a", "--", "b"], {}, "stdin quiet"),
        ("exec -nns pod --kubeconfig k --request-timeout 1s -- a", ["exec", "pod", "a"],
         {"namespace": "ns", "kubeconfig": "k", "": "1s"}, ""),
        ("get pods -A -l app=x", ["get", "pods"], {"selector": "app=x"}, "all"),
        ("version --client", ["version"], {}, "client"),
    ],
)  # fmt: skip
def test_command_lines(line: str, words: list[str], values: dict[str, str], switches: str) -> None:
    asked = Asked(line.split())
    on = {name for name, value in asked.switches.items() if value}
    assert (asked.words, asked.values, on) == (words, values, set(switches.split()))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("exec pod -n", "flag needs an argument: -n"),
        ("exec --frob pod -- a", "unknown flag: --frob; the built-in kubectl supports"),
        ("exec", "pod, type/name or --filename must be specified"),
        ("exec pod", "you must specify at least one command for the container"),
        ("exec job/x -- a", "job/x is no pod; the built-in kubectl supports"),
        ("exec pod -- a", "neither KUBECONFIG nor KUBERNETES_SERVICE_HOST is set"),
        ("get nodes", 'cannot get "nodes"; the built-in kubectl supports'),
        ("apply -f x", "unknown flag: -f; the built-in kubectl supports"),
        ("logs pod", 'unknown command "logs" for "kubectl"; the built-in kubectl supports'),
        ("", "the built-in kubectl supports"),
    ],
)
def test_what_it_cannot_do_it_says(
    line: str, why: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    assert kubectl.main(line.split()) == 1
    assert capsys.readouterr().err.startswith(f"error: {why}")


CONFIG: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [
        {"name": "a", "cluster": {"server": "https://a:1", "insecure-skip-tls-verify": "true"}},
        {"name": "b", "cluster": {"server": "https://b:2"}},
    ],
    "users": [{"name": "ann", "user": {"token": "t: 'x'"}}, {"name": "none", "user": {}}],
    "contexts": [
        {"name": "first", "context": {"cluster": "a", "user": "ann", "namespace": "space"}},
        {"name": "second", "context": {"cluster": "b", "user": "none"}},
    ],
    "current-context": "first",
    "preferences": {},
}


@pytest.mark.parametrize(
    "text",
    [json.dumps(CONFIG), yaml.safe_dump(CONFIG), yaml.safe_dump(CONFIG, indent=4)],
    ids=["JSON", "YAML", "indented"],
)
def test_kubeconfigs_are_read(text: str) -> None:
    assert read_config(text if text.startswith("{") else f"# a comment\n{text}") == CONFIG


def test_kubectl_indents_its_lists() -> None:
    text = "---\nclusters:\n  - cluster:\n      server: https://a:1\n    name: 'a'\ncurrent-context: \"\"\n"
    expected = {"clusters": [{"cluster": {"server": "https://a:1"}, "name": "a"}], "current-context": ""}
    assert read_config(text) == expected


def test_access_comes_from_the_kubeconfig_and_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config"
    path.write_text(json.dumps(CONFIG))
    monkeypatch.setenv("KUBECONFIG", str(path))
    found = kubectl.access(Asked([]))
    assert (found.server, found.bearer(), found.namespace) == ("https://a:1", "t: 'x'", "space")
    flags = ["--context", "second", "--token", "mine", "-n", "there", "-s", "https://c:3"]
    found = kubectl.access(Asked(flags))
    assert (found.server, found.bearer(), found.namespace) == ("https://c:3", "mine", "there")
    with pytest.raises(Failed, match='context "third" does not exist'):
        kubectl.access(Asked(["--context", "third"]))


def test_a_pod_asks_as_its_service_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr(kubectl, "ACCOUNT", str(tmp_path))
    (tmp_path / "namespace").write_text("space")
    (tmp_path / "token").write_text("one\n")
    found = kubectl.access(Asked([]))
    assert (found.server, found.namespace, found.bearer()) == ("https://10.96.0.1:443", "space", "one")
    (tmp_path / "token").write_text("two")
    assert found.bearer() == "two"


def test_files_may_stand_in_the_kubeconfig_or_beside_it(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("beside")
    inside = {"certificate-authority-data": base64.b64encode(b"inside").decode()}
    assert kubectl._part(inside, "certificate-authority", str(tmp_path)) == "inside"
    assert kubectl._part({"certificate-authority": "ca.crt"}, "certificate-authority", str(tmp_path)) == "beside"
    assert kubectl._part({}, "certificate-authority", str(tmp_path)) == ""


def a_pod(*names: str, default: str = "") -> dict[str, Any]:
    annotations = {"kubectl.kubernetes.io/default-container": default} if default else {}
    spec = {"containers": [{"name": name} for name in names], "initContainers": [{"name": "first"}]}
    return {"metadata": {"name": "p", "annotations": annotations}, "spec": spec}


@pytest.mark.parametrize(
    ("pod", "quiet", "chosen", "said"),
    [
        (a_pod("a"), False, "a", ""),
        (a_pod("a", "b"), False, "a", 'Defaulted container "a" out of: a, b, first (init)\n'),
        (a_pod("a", "b"), True, "a", ""),
        (a_pod("a", "b", default="b"), False, "b", ""),
    ],
)
def test_the_container_is_chosen_as_kubectl_does(
    pod: dict[str, Any], quiet: bool, chosen: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kubectl._default_container(pod, quiet) == chosen
    assert capsys.readouterr().err == said


def test_tables_are_printed_in_columns(capsys: pytest.CaptureFixture[str]) -> None:
    table = {
        "columnDefinitions": [{"name": "Name"}, {"name": "Ready"}, {"name": "IP", "priority": 1}],
        "rows": [{"cells": ["worker-0", "1/1", "10.244.1.2"]}, {"cells": ["w", "0/1", "<none>"]}],
    }
    kubectl._print_tables([table], wide=False, bare=False)
    assert capsys.readouterr().out == "NAME       READY\nworker-0   1/1\nw          0/1\n"
    kubectl._print_tables([{**table, "rows": []}], wide=False, bare=False)
    assert capsys.readouterr().err == "No resources found\n"


def test_it_needs_the_standard_library_alone() -> None:
    source = Path(kubectl.__file__).read_text()
    imported = {
        line.split()[1].partition(".")[0] for line in source.splitlines() if line.startswith(("import ", "from "))
    }
    assert imported <= {*sys.stdlib_module_names, "__future__"}
