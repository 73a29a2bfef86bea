# SPDX-License-Identifier: Apache-2.0
"""Writes what the embedded API server knows of built-in types into its package data.

    (cd hack/oracle && go run ./typedump) | python hack/generate_types.py          write
    (cd hack/oracle && go run ./typedump) | python hack/generate_types.py --check  exit 1 if anything would change

One file per Go package, so that a process loads only the packages it serves. `--check` compares contents and not
bytes, because zlib and zlib-ng compress the same text differently.
"""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parent.parent / "src/springtide/local/schema/generated"


def split(dump: dict[str, Any]) -> dict[str, Any]:
    """File name -> content: the kinds index and the types of each Go package."""
    packages: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, body in dump["types"].items():
        package, _, local = name.rpartition(".")
        packages[package][local] = body
    files: dict[str, Any] = {f"{package}.json.z": types for package, types in packages.items()}
    files["kinds.json.z"] = dump["kinds"]
    return files


def encode(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def stale(files: dict[str, Any]) -> list[str]:
    """Names of files that differ from the dump, are missing, or should not be there."""
    present = {path.name: zlib.decompress(path.read_bytes()) for path in TARGET.glob("*.json.z")}
    wanted = {name: encode(content) for name, content in files.items()}
    return sorted(name for name in present.keys() | wanted.keys() if present.get(name) != wanted.get(name))


def write(files: dict[str, Any]) -> None:
    TARGET.mkdir(exist_ok=True)
    for path in TARGET.glob("*.json.z"):
        if path.name not in files:
            path.unlink()
    for name, content in files.items():
        (TARGET / name).write_bytes(zlib.compress(encode(content), 9))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dump", nargs="?", type=argparse.FileType("r"), default=sys.stdin)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the generated files are stale")
    options = parser.parse_args()
    files = split(json.load(options.dump))
    if not options.check:
        write(files)
        return 0
    names = stale(files)
    for name in names:
        print(f"stale: {TARGET / name}", file=sys.stderr)
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
