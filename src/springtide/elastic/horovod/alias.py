# SPDX-License-Identifier: Apache-2.0
"""The import name `horovod` for these modules, so that programs written for Horovod run unchanged.

An environment with Horovod's names has a package `horovod` that only calls `register`. Then `import horovod.torch`
gives `springtide.elastic.horovod.torch` itself, not a second copy: there is one group and one class of each name, under
either import name.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final, NoReturn

from springtide import HOROVOD_VERSION, __version__
from springtide.elastic.horovod import absent

NAME: Final = "horovod"
VERSION: Final = f"{HOROVOD_VERSION}+springtide.{__version__}"
"""Horovod's version, whose API it is, and Springtide's."""
_OURS: Final = "springtide.elastic.horovod"
_ELSEWHERE: Final = {
    "common.exceptions": "states",
    "keras": "tensorflow.keras",
    "keras.callbacks": "tensorflow.keras.callbacks",
    "keras.elastic": "tensorflow.keras.elastic",
    "tensorflow.functions": "tensorflow",
    "tensorflow.mpi_ops": "tensorflow",
    "torch.elastic.sampler": "torch.elastic",
    "torch.elastic.state": "torch.elastic",
    "torch.functions": "torch",
    "torch.mpi_ops": "torch",
}
"""Modules of Horovod whose names are in another module here."""
_PACKAGES: Final = {"common"}
"""Packages without names of their own."""
_NEEDED: Final = {"tensorflow": ("TensorFlow", "tensorflow"), "torch": ("PyTorch", "torch")}
"""The framework that a module needs, and the preset of `tide env create` that has it."""


def register() -> None:
    """Idempotent. Installs the finder before the one for files, which would load the modules a second time under
    Horovod's name."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def refuse(name: str) -> NoReturn:
    """The error for a name of the package itself."""
    if name == "run":
        raise AttributeError("horovod.run is not offered. Instead: start the program with horovodrun or tiderun")
    absent.refuse(NAME, name)


class _Finder(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        top, _, rest = fullname.partition(".")
        if top != NAME or not rest:
            return None
        if rest in _PACKAGES:
            return ModuleSpec(fullname, self, is_package=True)
        ours = f"{_OURS}.{_ELSEWHERE.get(rest, rest)}"
        try:
            known = importlib.util.find_spec(ours)
        except ModuleNotFoundError as error:
            raise _explained(error, fullname) from None
        if known is None:
            return None
        return ModuleSpec(fullname, self, origin=ours, is_package=known.submodule_search_locations is not None)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        if spec.origin is None:
            return None  # an empty package
        try:
            module = importlib.import_module(spec.origin)
        except ModuleNotFoundError as error:
            raise _explained(error, spec.name) from None
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """The module was loaded under its own name, and keeps its spec."""
        spec = module.__spec__
        if spec is not None and spec.origin is not None:
            module.__spec__ = spec.loader_state


def _explained(error: ModuleNotFoundError, wanted: str) -> ModuleNotFoundError:
    framework = _NEEDED.get(error.name or "")
    if framework is None:
        return error
    name, preset = framework
    why = f"{wanted} needs {name}, which is not installed here; tide env create --preset horovod-{preset} has it"
    return ModuleNotFoundError(why, name=error.name)
