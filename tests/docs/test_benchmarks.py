# SPDX-License-Identifier: Apache-2.0
"""A script's folder comes first where Python looks for modules: no benchmark may have the name of one of its own."""

from __future__ import annotations

import sys

from tests.docs import pages


def test_no_benchmark_shadows_the_standard_library() -> None:
    names = {path.stem for path in (pages.DOCS.parent / "benchmarks").glob("*.py")}
    assert "operators" in names
    assert not names & sys.stdlib_module_names
