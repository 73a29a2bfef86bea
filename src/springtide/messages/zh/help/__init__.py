# SPDX-License-Identifier: Apache-2.0
"""Help of the commands by paragraph, as `springtide.cli.help_pages` splits them, from one module per subject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from springtide.messages.zh.help import clusters, flags, jobs, others, words

HELP: Final[Mapping[str, str]] = {**words.HELP, **jobs.HELP, **flags.HELP, **clusters.HELP, **others.HELP}
