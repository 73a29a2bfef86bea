# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from springtide.local.kubelet.containers import rewriting
from springtide.local.kubelet.containers.rewriting import Rewriter

PLACES = {"/data": "/h/v1", "/data/deep": "/h/v2", "/etc/mpi/": "/h/mpi", "/": "/never"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/data", "/h/v1"),
        ("/data/x", "/h/v1/x"),
        ("/data/deep/x", "/h/v2/x"),
        ("--in=/data/x:/data/deep", "--in=/h/v1/x:/h/v2"),
        ("cat /etc/mpi/hostfile > '/data/out'", "cat /h/mpi/hostfile > '/h/v1/out'"),
        ("/database", "/database"),
        ("/data.txt", "/data.txt"),
        ("/data-2", "/data-2"),
        ("/my/data", "/my/data"),
        ("http://host/data", "http://host/data"),
        ("./data", "./data"),
        ("/other", "/other"),
    ],
)
def test_whole_paths_are_rewritten_and_nothing_else(text: str, expected: str) -> None:
    assert Rewriter(PLACES).text(text) == expected


def test_without_places_nothing_changes() -> None:
    assert Rewriter({}).texts(["/data", ""]) == ("/data", "")


def test_values_are_rewritten_and_names_are_not() -> None:
    assert Rewriter({"/d": "/h"}).values({"/d": "/d/x"}) == {"/d": "/h/x"}


def test_the_pods_rights_become_a_kubeconfig() -> None:
    config = json.loads(rewriting.kubeconfig("https://127.0.0.1:7443", Path("/h/account"), "team"))
    assert config["clusters"][0]["cluster"] == {
        "server": "https://127.0.0.1:7443",
        "certificate-authority": "/h/account/ca.crt",
    }
    assert config["users"][0]["user"] == {"tokenFile": "/h/account/token"}
    assert config["contexts"][0]["context"]["namespace"] == "team"


def a_pod(*paths: str, **spec: Any) -> dict[str, Any]:
    mounts = [{"name": "v", "mountPath": path} for path in paths]
    return {"spec": {"containers": [{"name": "c", "volumeMounts": mounts}], **spec}}


def test_a_pod_that_loses_nothing_hears_nothing() -> None:
    assert rewriting.cannot_work(a_pod(rewriting.ACCOUNT)) == ""


def test_what_cannot_work_is_named() -> None:
    said = rewriting.cannot_work(a_pod("/a", "/b", "/c", hostAliases=[{"ip": "1.1.1.1"}]))
    assert said == (
        "this machine allows no namespaces, so /a, /b and /c exist only where command, args and env name them; "
        "hostAliases have no effect. See what is missing: tide doctor"
    )
