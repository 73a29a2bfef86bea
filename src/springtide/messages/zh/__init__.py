# SPDX-License-Identifier: Apache-2.0
"""Chinese translations by English template, from one module per subject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from springtide.messages.zh import (
    clusters,
    connecting,
    doctor,
    environments,
    explaining,
    flags,
    job_logs,
    job_verbs,
    more_verbs,
    nodes,
    showing,
    submitting,
    tensorboards,
    tide_help,
    usage,
)

_SUBJECTS: Final = (
    clusters,
    connecting,
    doctor,
    environments,
    explaining,
    flags,
    job_logs,
    job_verbs,
    more_verbs,
    nodes,
    showing,
    submitting,
    tensorboards,
    tide_help,
    usage,
)

TRANSLATIONS: Final[Mapping[str, str]] = {
    template: translation for subject in _SUBJECTS for template, translation in subject.TRANSLATIONS.items()
}
