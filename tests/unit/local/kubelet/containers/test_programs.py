# SPDX-License-Identifier: Apache-2.0
"""What every container finds in its PATH, whatever that is."""

from __future__ import annotations

import os
from pathlib import Path

from springtide.local.kubelet.containers import programs


def test_several_agents_install_the_same(tmp_path: Path) -> None:
    for node in ("a", "b"):
        programs.install(tmp_path / "bin", node)
    assert sorted(os.listdir(tmp_path / "bin")) == ["kubectl", "kubectl.py"]
    assert os.access(tmp_path / "bin/kubectl", os.X_OK)


def test_another_version_takes_the_place_of_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "kubectl").write_text("old")
    programs.install(tmp_path, "a")
    assert (tmp_path / "kubectl").read_text().startswith("#!/bin/sh\n")


def test_a_path_with_spaces_is_one_word() -> None:
    assert "for python in '/my python/bin/python3' python3 " in programs.launcher("x.py", "/my python/bin/python3")
