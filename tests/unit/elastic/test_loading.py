# SPDX-License-Identifier: Apache-2.0
"""What is loaded, and when: there is an agent before every rank, and nothing begins before it has."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import pytest

from springtide import elastic


def printed(program: str) -> list[str]:
    """By an interpreter of its own."""
    found = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    return found.stdout.split()


def test_all_names_are_there() -> None:
    assert all(hasattr(elastic, name) for name in elastic.__all__)
    with pytest.raises(AttributeError, match="no attribute 'adasum'"):
        _ = elastic.adasum


def test_the_context_is_a_module_of_the_package_for_programs() -> None:
    show = "from springtide.elastic import context; print(context.__name__, context.ring.__name__)"
    assert printed(show) == ["springtide.elastic.context", "ring"]
    show = "import springtide.elastic.context as one; from springtide.elastic.ranks import context as other; "
    assert printed(f"{show}print(one.current() is other.current())") == ["True"]
    assert printed("from springtide import elastic; elastic.State; print(elastic.context.__name__)") == [
        "springtide.elastic.context"
    ]


def test_no_module_has_the_name_of_something_public() -> None:
    """It would take its place as soon as anything imported it."""
    assert not set(elastic.__all__) & {each.name for each in pkgutil.iter_modules(elastic.__path__)}


def test_whatever_a_program_imports_first_its_names_are_what_they_are() -> None:
    """Every module by itself, but for those whose framework is not here."""
    show = """
import importlib, pkgutil, sys
from springtide import elastic

names = [each.name for each in pkgutil.walk_packages(elastic.__path__, "springtide.elastic.")]
for name in names:
    if name.endswith(".__main__"):
        continue
    for loaded in [each for each in sys.modules if each.startswith("springtide")]:
        del sys.modules[loaded]
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        assert error.name in ("keras", "tensorflow", "torch", "numpy", "mpi4py"), error
        continue
    public = sys.modules["springtide.elastic"]
    wrong = [each for each in public.__all__ if not callable(getattr(public, each))]
    from springtide.elastic import rank
    assert not wrong and rank() == 0, (name, wrong)
    print(name)
"""
    assert {
        f"springtide.elastic.{name}"
        for name in ("context", "groups", "leaves", "ranks.context", "horovod.world", "horovod.states")
    } <= set(printed(show))


def test_the_first_name_loads_all_that_a_program_may_use_later() -> None:
    """The package may be another version's by the time a program first reports its progress."""
    show = "import sys; from springtide.elastic import State; print(*sys.modules)"
    assert {f"springtide.elastic.ranks.{name}" for name in ("reporting", "samplers", "collectives")} <= set(
        printed(show)
    )


def test_agents_load_nothing_that_programs_or_launchers_use() -> None:
    show = "import sys, springtide.elastic.agent; print(*sys.modules)"
    loaded = set(printed(show))
    assert not {"asyncio", "ssl", "logging", "springtide.elastic.ranks"} & loaded
    assert not [name for name in loaded if name.startswith("springtide.elastic.launcher.state_machine")]
