# SPDX-License-Identifier: Apache-2.0
"""What users can do about a launcher that ended in a way whose cause is known.

Open MPI 5 knows long options with two dashes only. With one it takes `-bind-to` for a row of short options and the next
word for the program, or refuses the option under a name that nobody wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from springtide.api.command_lines import single_dashed
from springtide.jobs.observed import Exit

_REFUSALS: Final = (
    "An unrecognized option was included on the mpirun command line",
    "prterun was unable to find the specified executable file",
)


def on(template: Mapping[str, Any], ended: Exit) -> str:
    """Empty where nothing is known."""
    options = single_dashed(template) if any(refusal in ended.message for refusal in _REFUSALS) else ()
    if not options:
        return ""
    written, meant = (", ".join(f"{dashes}{name}" for name in options) for dashes in ("-", "--"))
    return (
        f"Open MPI 5 does not understand {written}: write {meant}, or use an image with Open MPI 4, which takes either"
    )
