# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import zipfile
from pathlib import Path

import pytest


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A package with a program, made without any build tool or network."""
    path = tmp_path / "greeting-1.0-py3-none-any.whl"
    info = "greeting-1.0.dist-info"
    contents = {
        "greeting.py": "def main():\n    print('hello')\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\ngreet = greeting:main\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in contents.items():
            archive.writestr(name, text)
    return path
