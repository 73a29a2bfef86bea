# SPDX-License-Identifier: Apache-2.0
"""Writes the CustomResourceDefinitions in deploy/crds from the typed kinds.

python hack/generate_crds.py            write them
python hack/generate_crds.py --check    write nothing, fail when one is not what the kinds say
"""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

from springtide.api.kinds.registry import DEFINED
from springtide.api.kinds.resource import Resource
from springtide.api.schema.definitions import definition

OUT = Path(__file__).parent.parent / "deploy/crds"
NOTE = "# Generated from src/springtide/api/kinds by hack/generate_crds.py. Do not edit.\n"


class _Plain(yaml.SafeDumper):
    """Writes a value that occurs twice twice: not every reader of manifests knows YAML's anchors."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def written(resource: Resource) -> str:
    return NOTE + yaml.dump(definition(resource), Dumper=_Plain, sort_keys=False, width=120)


def files() -> dict[Path, str]:
    return {OUT / f"{resource.group}_{resource.plural}.yaml": written(resource) for resource in DEFINED}


def main(check: bool) -> int:
    wanted = files()
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    stale += [path for path in OUT.glob("*.yaml") if path not in wanted]
    if check:
        for path in stale:
            print(
                f"{path.relative_to(OUT.parent.parent)} is not what the kinds say: run `python hack/generate_crds.py`"
            )
        return 1 if stale else 0
    OUT.mkdir(parents=True, exist_ok=True)
    for path in stale:
        path.unlink(missing_ok=True)
    for path, text in wanted.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
