# SPDX-License-Identifier: Apache-2.0
"""Manifests in files, and what is no manifest."""

from __future__ import annotations

from pathlib import Path

import pytest

from springtide.cli.errors import Failure
from springtide.cli.jobs.changing.manifest_files import in_namespace, read

ONE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def names(path: Path, content: str) -> list[str]:
    path.write_text(content)
    return [obj["metadata"]["name"] for obj in read([str(path)])]


def test_a_file_may_hold_several_documents_and_lists(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    assert names(file, f"---\n{ONE}---\n# nothing\n---\n{ONE}") == ["a", "a"]
    assert names(file, '{"kind": "List", "items": [{"apiVersion": "v1", "kind": "A", "metadata": {"name": "b"}}]}') == [
        "b"
    ]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("", "There is no object in "),
        ("a: [", " is neither YAML nor JSON."),
        ("just words", "A document in "),
        ("1: 2", " lacks apiVersion, kind, metadata.name."),
        ("kind: MPIJob\nmetadata: {name: ''}", " lacks apiVersion, metadata.name."),
        ("apiVersion: v1\nkind: 3\nmetadata: []", " lacks kind, metadata.name."),
        ("&a [*a]", " is neither YAML nor JSON."),
        ("!!python/object:os.system {}", " is neither YAML nor JSON."),
    ],
)
def test_what_is_no_manifest_is_named(tmp_path: Path, content: str, error: str) -> None:
    with pytest.raises(Failure) as failure:
        names(tmp_path / "job.yaml", content)
    assert error in failure.value.lines()[0]
    assert failure.value.exit_code == 2


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for file, why in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(Failure) as failure:
            read([str(file)])
        assert why in failure.value.lines()[1]
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(Failure, match="cannot be read"):
        read([str(tmp_path / "bytes")])


def test_the_namespace_of_an_object_counts_unless_another_one_was_chosen() -> None:
    obj = {"metadata": {"name": "a"}}
    own = {"metadata": {"name": "a", "namespace": "own"}}
    assert in_namespace(obj, "team", chosen=False)["metadata"]["namespace"] == "team"
    assert in_namespace(own, "team", chosen=False)["metadata"]["namespace"] == "own"
    assert in_namespace(own, "own", chosen=True)["metadata"]["namespace"] == "own"
    with pytest.raises(Failure, match="a is of namespace own, not team"):
        in_namespace(own, "team", chosen=True)
