# SPDX-License-Identifier: Apache-2.0
"""The name `horovod` leads to modules that are there already, and never to second copies of them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from springtide.elastic.horovod import alias, states


@pytest.fixture(autouse=True)
def registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in an environment that has a package `horovod`; all is as before at the end."""
    package = tmp_path / "horovod"
    package.mkdir()
    (package / "__init__.py").write_text("from springtide.elastic.horovod import alias\nalias.register()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    finders, modules = list(sys.meta_path), set(sys.modules)
    yield
    sys.meta_path[:] = finders
    for name in [name for name in sys.modules if name.startswith(("horovod", "ours")) and name not in modules]:
        del sys.modules[name]


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages in each other, in place of those that need a framework."""
    inner = tmp_path / "ours" / "torch" / "elastic"
    inner.mkdir(parents=True)
    for folder in (inner, inner.parent, inner.parent.parent):
        (folder / "__init__.py").write_text("class State: ...\n")
    (inner / "parts.py").write_text("")
    monkeypatch.setattr(alias, "_OURS", "ours")


@pytest.mark.usefixtures("ours")
@pytest.mark.parametrize("name", ["torch", "torch.elastic", "torch.elastic.parts"])
def test_a_module_is_the_one_that_is_there(name: str) -> None:
    found = importlib.import_module(f"horovod.{name}")
    assert found is importlib.import_module(f"ours.{name}")
    assert found.__name__ == f"ours.{name}"
    assert found.__spec__ is not None
    assert found.__spec__.name == f"ours.{name}"


@pytest.mark.usefixtures("ours")
def test_modules_of_horovods_that_have_no_counterpart_lead_to_where_their_names_are() -> None:
    assert importlib.import_module("horovod.torch.mpi_ops") is importlib.import_module("ours.torch")
    assert importlib.import_module("horovod.torch.elastic.state") is importlib.import_module("ours.torch.elastic")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'horovod\.spark'"):
        importlib.import_module("horovod.spark")


def test_names_that_need_no_framework_are_there() -> None:
    assert importlib.import_module("horovod.common.exceptions") is states


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="PyTorch is installed")
def test_a_framework_that_is_missing_is_named_with_what_has_it() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"horovod\.torch needs PyTorch.* --preset horovod-torch"):
        importlib.import_module("horovod.torch")


def test_names_that_are_not_offered_say_what_to_use() -> None:
    with pytest.raises(AttributeError, match="start the program with horovodrun or tiderun"):
        alias.refuse("run")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        alias.refuse("nothing")
