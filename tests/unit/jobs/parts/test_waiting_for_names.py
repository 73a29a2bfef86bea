# SPDX-License-Identifier: Apache-2.0
"""The script that waits for a name, run by a real shell: with getent, with nslookup, and with neither."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from springtide.jobs.parts import waiting_for_names

SHELL = shutil.which("sh") or "/bin/sh"
ASKED = {"getent": "hosts j-master-0", "nslookup": "j-master-0"}


def container(**spec: Any) -> dict[str, Any]:
    spec |= {"containers": [{"name": "istio"}, {"name": "pytorch", "image": "train", "imagePullPolicy": "Always"}]}
    waiting_for_names.add(spec, "init-pytorch", "j-master-0", "pytorch")
    found: dict[str, Any] = spec["initContainers"][-1]
    return found


def run(path: Path) -> str:
    """What the script prints in an image whose programs are those in `path`."""
    _, *options, script = container()["command"]
    environment = {"PATH": str(path), "PEER": "j-master-0"}
    done = subprocess.run(
        [SHELL, *options, script], env=environment, capture_output=True, text=True, timeout=20, check=True
    )
    assert done.stderr == ""
    return done.stdout


def program(path: Path, name: str, text: str) -> None:
    (path / name).write_text(f"#!{SHELL}\n{text}\n")
    (path / name).chmod(0o755)


def resolves_after(path: Path, name: str, failures: int) -> Path:
    """Its calls are lines of the file that is returned."""
    calls = path / "calls"
    calls.write_text("")
    program(path, name, f'echo "$@" >> {calls}\ncount=0; while read -r _; do count=$((count+1)); done < {calls}')
    (path / name).write_text((path / name).read_text() + f"[ $count -gt {failures} ]\n")
    program(path, "sleep", ":")
    return calls


@pytest.mark.parametrize("name", ASKED)
def test_it_ends_when_the_name_resolves(tmp_path: Path, name: str) -> None:
    calls = resolves_after(tmp_path, name, failures=3)
    assert run(tmp_path) == "waiting for j-master-0, which is not ready yet (0 s)\nj-master-0 is ready\n"
    assert calls.read_text().splitlines() == [ASKED[name]] * 4


def test_it_prints_nothing_but_the_end_if_the_name_resolves_at_once(tmp_path: Path) -> None:
    resolves_after(tmp_path, "getent", failures=0)
    assert run(tmp_path) == "j-master-0 is ready\n"


def test_it_prints_a_line_every_ten_seconds(tmp_path: Path) -> None:
    resolves_after(tmp_path, "nslookup", failures=25)
    waiting = [f"waiting for j-master-0, which is not ready yet ({seconds} s)" for seconds in (0, 10, 20)]
    assert run(tmp_path).splitlines() == [*waiting, "j-master-0 is ready"]


def test_getent_is_asked_where_both_are_there(tmp_path: Path) -> None:
    """nslookup asks the DNS server directly, past /etc/hosts."""
    program(tmp_path, "nslookup", "exit 1")
    resolves_after(tmp_path, "getent", failures=1)
    assert run(tmp_path).endswith("j-master-0 is ready\n")


def test_an_image_with_neither_waits_for_nothing(tmp_path: Path) -> None:
    assert run(tmp_path) == "not waiting for j-master-0: this image has neither getent nor nslookup\n"


def test_the_container_has_the_image_of_the_one_that_trains_and_comes_last() -> None:
    spec: dict[str, Any] = {"initContainers": [{"name": "data"}], "containers": [{"name": "pytorch"}]}
    waiting_for_names.add(spec, "init-pytorch", "j-master-0", "pytorch")
    assert [each["name"] for each in spec["initContainers"]] == ["data", "init-pytorch"]
    made = container()
    assert (made["image"], made["imagePullPolicy"]) == ("train", "Always")
    assert made["env"] == [{"name": "PEER", "value": "j-master-0"}]
    assert not {"resources", "securityContext"} & made.keys()
