# SPDX-License-Identifier: Apache-2.0
"""`kubectl_complete-tide`: what kubectl asks when TAB is pressed after `kubectl tide`.

The answer is one value per line, with its description behind a tab, and a last line with a directive of kubectl's
library cobra: whether the shell completes names of files.
"""

from __future__ import annotations

import sys
from typing import Final

from click.shell_completion import ShellComplete

from springtide.cli.app import tide

_FILES: Final = 0
_NO_FILES: Final = 4
_DIRECTORIES: Final = 16


def main() -> None:
    print("\n".join(answer(sys.argv[1:])))


def answer(words: list[str]) -> list[str]:
    """`words` come after `kubectl tide`; the last one is unfinished."""
    *before, last = words or [""]
    items = ShellComplete(tide, {}, "tide", "_TIDE_COMPLETE").get_completions(before, last)
    kinds = {item.type for item in items}
    directive = _FILES if "file" in kinds else _DIRECTORIES if "dir" in kinds else _NO_FILES
    values = [f"{item.value}\t{item.help}" if item.help else str(item.value) for item in items if item.type == "plain"]
    return [*values, f":{directive}"]
