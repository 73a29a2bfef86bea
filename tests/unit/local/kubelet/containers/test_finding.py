# SPDX-License-Identifier: Apache-2.0
"""Whether a program is on this machine, as a container would look for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from springtide.local.kubelet.containers.finding import is_missing
from springtide.local.runtime.contract import Mount

PRIVATE = ("/tmp", "/root")


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    file = tmp_path / "bin" / "tool"
    file.touch(0o755)
    (tmp_path / "bin" / "text").touch(0o644)
    return file


def missing(program: str, path: str = "/usr/bin:/bin", cwd: str = "/", *, mounts: tuple[Mount, ...] = ()) -> bool:
    return is_missing(program, path, cwd, mounts, PRIVATE, [mount.target for mount in mounts if not mount.read_only])


def test_programs_of_the_machine_are_found() -> None:
    assert not missing("sh")
    assert not missing("/bin/sh")
    assert not missing("../bin/sh", cwd="/usr")
    assert missing("no-such-program")
    assert missing("/no/such/program")


def test_what_is_mounted_is_looked_for_where_it_lies(tool: Path) -> None:
    shown = Mount("/examples", str(tool.parent.parent), read_only=True)
    assert not missing("/examples/bin/tool", mounts=(shown,))
    assert not missing("tool", "/examples/bin", mounts=(shown,))
    assert missing("text", "/examples/bin", mounts=(shown,))  # nobody may execute it
    assert not missing("/examples/bin/text", mounts=(shown,))  # which is another error
    assert not missing("bin/tool", cwd="/examples", mounts=(shown,))
    assert missing("tool", "/elsewhere/bin", mounts=(shown,))


def test_in_private_directories_there_is_only_what_is_mounted(tool: Path) -> None:
    assert str(tool).startswith("/tmp/")
    assert missing(str(tool))
    assert not missing(str(tool), mounts=(Mount(str(tool.parent), str(tool.parent), read_only=True),))


def test_what_may_lie_on_a_volume_is_left_to_the_container() -> None:
    volume = Mount("/data", "/nowhere")
    assert not missing("/data/bin/train", mounts=(volume,))
    assert not missing("train", "/usr/bin:/data/bin", mounts=(volume,))
    assert missing("/database/train", mounts=(volume,))
