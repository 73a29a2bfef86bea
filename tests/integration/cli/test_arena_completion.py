# SPDX-License-Identifier: Apache-2.0
"""TAB in a real bash, with the script that `arena completion bash` prints."""

from __future__ import annotations

from tests import terminal
from tests.integration.cli.conftest import Tide


def test_commands_flags_and_their_values_are_completed(tide: Tide) -> None:
    with terminal.bash(tide.environment, tide.home) as shell:
        assert shell.run('eval "$(arena completion bash)"')[0] == 0
        for typed, completed in {
            "arena subm": "arena submit ",
            "arena submit et": "arena submit etjob ",
            "arena submit etjob --max-wo": "arena submit etjob --max-workers ",
            "arena submit etjob --sync-mode=r": "arena submit etjob --sync-mode=rsync ",
            "arena list -T py": "arena list -T pytorchjob ",
            "arena -n team scaleo": "arena -n team scaleout ",
        }.items():
            shell.complete(typed, completed)
