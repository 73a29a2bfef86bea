# SPDX-License-Identifier: Apache-2.0
"""A run whose Springtide is replaced on disk: nothing that already runs imports any of it later.

What is started after that (agents and ranks of newcomers) is the new version, which speaks the same protocol:
tests/unit/elastic/protocol/test_messages.py and test_state.py in tests/unit/elastic/ranks hold it to that.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from tests.integration.elastic.launching import Launch

import springtide

pytestmark = pytest.mark.timeout(120)
PROGRAM = """
import sys, time
from pathlib import Path
from springtide import elastic

@elastic.run
def train(state):
    print("trains with", elastic.__file__, flush=True)
    while not Path(sys.argv[1]).exists():
        state.step += 1
        state.commit()
        time.sleep(0.02)
    for _ in elastic.Sampler(4, batch=2):
        elastic.report(state.step, loss=0.5, samples=2)
        assert elastic.broadcast({"rank": elastic.rank()}) == {"rank": 0}
        assert elastic.allgather(1) == [1, 1]
        elastic.barrier()

train(elastic.State(step=0))
"""


def test_a_run_goes_on_when_its_package_is_gone(tmp_path: Path) -> None:
    tree = tmp_path / "tree" / "springtide"
    source = Path(springtide.__file__).parent
    tree.mkdir(parents=True)
    shutil.copy(source / "__init__.py", tree)
    shutil.copytree(source / "elastic", tree / "elastic", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "program.py").write_text(PROGRAM)
    command = ("-np", "2", sys.executable, "-P", str(tmp_path / "program.py"), str(tmp_path / "done"))
    run = Launch(tmp_path, command, {"PYTHONPATH": str(tree.parent), "PYTHONSAFEPATH": "1"})
    try:
        run.saw(f"trains with {tree}/elastic/", times=2)
        shutil.rmtree(tree)
        assert run.finish() == 0, run.text
    finally:
        run.close()
