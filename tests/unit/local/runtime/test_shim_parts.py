# SPDX-License-Identifier: Apache-2.0
"""Plain functions of the shim: paths inside a root, process trees, exit codes, programs, cgroups."""

from __future__ import annotations

from pathlib import Path

import pytest

from springtide.local import control_sockets
from springtide.local.directory_trees import remove_tree
from springtide.local.runtime.shim import init, json_lines, kernel, memory, program, root


@pytest.fixture
def top(tmp_path: Path) -> str:
    (tmp_path / "usr" / "bin").mkdir(parents=True)
    (tmp_path / "bin").symlink_to("usr/bin")
    (tmp_path / "run").mkdir()
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "resolv.conf").symlink_to("../run/resolve/stub.conf")
    (tmp_path / "etc" / "absolute").symlink_to("/usr/bin")
    (tmp_path / "etc" / "escape").symlink_to("../../../../usr")
    (tmp_path / "loop").symlink_to("loop")
    return str(tmp_path)


@pytest.mark.parametrize(
    ("target", "inside", "missing"),
    [
        ("/", "/", []),
        ("/usr/bin", "/usr/bin", []),
        ("/bin/", "/usr/bin", []),
        ("/bin/new/er", "/usr/bin", ["new", "er"]),
        ("/examples", "/", ["examples"]),
        ("/etc/absolute/x", "/usr/bin", ["x"]),
        ("/etc/escape/bin", "/usr/bin", []),
        ("/etc/resolv.conf", "/run", ["resolve", "stub.conf"]),
        ("/etc/../usr/./bin", "/usr/bin", []),
    ],
)
def test_paths_are_followed_inside_the_root(top: str, target: str, inside: str, missing: list[str]) -> None:
    assert root.resolve(top, target) == (inside, missing)


def test_a_loop_of_links_is_an_error(top: str) -> None:
    with pytest.raises(OSError, match="too many links"):
        root.resolve(top, "/loop/x")


@pytest.mark.parametrize(("status", "code"), [(0, (0, 0)), (3 << 8, (3, 0)), (9, (137, 9)), (15 | 0x80, (143, 15))])
def test_exit_codes(status: int, code: tuple[int, int]) -> None:
    assert init.exit_code(status) == code


@pytest.mark.parametrize(
    ("name", "number"), [("SIGTERM", 15), ("SIGUSR1", 10), ("SIGRTMIN", 34), ("SIGRTMIN+3", 37), ("SIGRTMAX-1", 63)]
)
def test_signals_as_manifests_spell_them(name: str, number: int) -> None:
    assert init.signal_number(name) == number


@pytest.mark.parametrize("name", ["", "TERM", "SIGNONE", "SIGTERM+x", "SIG_IGN+", "set_wakeup_fd"])
def test_unknown_signals_are_refused(name: str) -> None:
    with pytest.raises(kernel.Refusal, match="unknown signal"):
        init.signal_number(name)


def test_descendants_of_several_roots() -> None:
    tree = {1: 0, 2: 1, 3: 2, 4: 1, 5: 4, 6: 99, 7: 6}
    assert memory.descendants(tree, [2, 6, 1000]) == {2, 3, 6, 7}


def test_a_command_is_looked_for_in_the_path_of_its_own_environment(tmp_path: Path) -> None:
    for folder, mode in (("a", 0o644), ("b", 0o755), ("c", 0o755)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tool").write_text("")
        (tmp_path / folder / "tool").chmod(mode)
    path = ":".join(str(tmp_path / folder) for folder in ("none", "a", "b", "c"))
    assert program.find_program("tool", {"PATH": path}) == str(tmp_path / "b" / "tool")
    with pytest.raises(kernel.Refusal, match=r'^exec: "other": executable file not found in \$PATH$'):
        program.find_program("other", {"PATH": path})


def test_trees_are_removed_with_what_cannot_be_read(tmp_path: Path) -> None:
    closed = tmp_path / "tree" / "work" / "work"
    closed.mkdir(parents=True)
    (closed / "file").write_text("")
    closed.chmod(0)
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "kept").mkdir()
    remove_tree(str(tmp_path / "tree"))
    remove_tree(str(tmp_path / "tree"))
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_descriptors_survive_packing() -> None:
    assert control_sockets.pack_fds([]) == []
    ((_, _, data),) = control_sockets.pack_fds([3, 4])
    assert len(data) == 8


def test_a_delegated_memory_controller_is_used(tmp_path: Path) -> None:
    """On plain files; what the kernel puts into a new group is there already."""
    for name in ("memory.max", "memory.oom.group", "memory.events", "cgroup.procs"):
        (tmp_path / name).write_text("")
    group = memory.MemoryGroup(str(tmp_path), 1000)
    group.join()
    assert (tmp_path / "memory.max").read_text() == "1000"
    assert (tmp_path / "memory.oom.group").read_text() == "1"
    assert (tmp_path / "cgroup.procs").read_text() == "0"
    assert not group.killed()
    (tmp_path / "memory.events").write_text("oom 1\noom_kill 2\n")
    assert group.killed()


def test_without_a_memory_controller_there_is_no_group(tmp_path: Path) -> None:
    (tmp_path / "cgroup.subtree_control").write_text("")
    assert memory.MemoryGroup.make(str(tmp_path), "tide-x", 1000) is None
    assert not (tmp_path / "tide-x").exists()


def test_a_plain_directory_is_no_cgroup(tmp_path: Path) -> None:
    assert memory.MemoryGroup.make(str(tmp_path), "tide-x", 1000) is None
    assert list(tmp_path.iterdir()) == []


def test_a_group_that_a_killed_shim_left_is_removed(tmp_path: Path) -> None:
    """Wherever it was made: under the shim's own group, or beside it."""
    pod, beside = tmp_path / "pod", tmp_path / "groups"
    own = beside / "own"
    for name, group in (("one", own / "tide-one"), ("two", beside / "tide-two")):
        group.mkdir(parents=True)
        (pod / "containers" / name).mkdir(parents=True)
        json_lines.write_json(str(pod / "containers" / name / memory.GROUP_NOTE), [str(own), group.name])
    (pod / "containers" / "unlimited").mkdir()
    memory.remove_groups(str(pod))
    assert [path.name for path in beside.rglob("*")] == ["own"]
    assert list(pod.rglob(memory.GROUP_NOTE)) == []
    memory.remove_groups(str(pod))
    memory.remove_groups(str(tmp_path / "no-pod"))
