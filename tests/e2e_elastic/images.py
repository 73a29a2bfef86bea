# SPDX-License-Identifier: Apache-2.0
"""What the images of the examples' manifests, and those of presets with frameworks, stand for on a cluster.

Each is an environment as `tide env create` makes it, but that its framework lies in the cache; what a training image
needs of Springtide is installed there as the documents say, without anything else.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from tests.e2e_elastic import environments
from tests.e2e_elastic.environments import ROOT, Kit
from tests.programs.world import Cluster

from springtide.local.environments import bundle, presets
from springtide.local.environments.environment import Environment, Files
from springtide.local.environments.shelf import Environments
from springtide.local.environments.tools import Tools

EXAMPLES = ROOT / "examples" / "elastic"
KITS = {"torch": environments.TORCH, "tensorflow": environments.TENSORFLOW}


PRESETS = {"pytorch": environments.TORCH, "tensorflow-preset": environments.TENSORFLOW}
"""By the names of environments: there is another one called tensorflow."""


def offer(cluster: Cluster, name: str) -> None:
    """Have `example/NAME:…`, or a preset's images, on this cluster, if it has them not yet."""
    if cluster.tide.run("env", "show", name).returncode == 0:
        return
    if name in PRESETS:
        shelf = Environments(cluster.tide.home / ".local/share/springtide/environments")
        with shelf.lock(name):
            shelf.put(_preset(name, shelf.root / name / "cached"))
    elif name in KITS:
        shelf = Environments(cluster.tide.home / ".local/share/springtide/environments")
        with shelf.lock(name):
            shelf.put(_environment(name, shelf.root / name / "cached", KITS[name]))
    else:  # NumPy is among what runs the tests
        cluster.tide.ok("env", "create", name, "--image", f"example/{name}:*", "--files", f"{EXAMPLES}:/examples")


def _preset(name: str, place: Path) -> Environment:
    preset = presets.table()[name.removesuffix("-preset")]
    base = _environment(name, place, PRESETS[name])
    shown = bundle.write_programs(place / "programs", preset.programs)
    files = tuple(Files(str(source), target, copied=True) for target, source in shown.items())
    return msgspec.structs.replace(
        base,
        images=preset.images,
        files=files,
        workdir=preset.workdir,
        entrypoint=preset.entrypoint,
        cmd=preset.cmd,
        env=preset.variables,
    )


def _environment(name: str, place: Path, kit: Kit) -> Environment:
    tools = Tools.found()
    tools.virtual_environment(place, "")
    tools.install(place, ["--no-deps", str(ROOT)])
    (environments.packages(place) / "framework.pth").write_text(f"{environments.packages(environments.made(kit))}\n")
    found = tools.probe(place)
    files = (Files(str(EXAMPLES), "/examples"),)
    return Environment(name, str(place), (f"example/{name}:*",), files, paths=found.paths, python=found.version)
