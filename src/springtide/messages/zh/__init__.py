# SPDX-License-Identifier: Apache-2.0
"""Chinese translations by English template, from one module per subject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

<<<<<<< HEAD
<<<<<<< HEAD
from springtide.messages.zh import (
    connecting,
    flags,
    tensorboards,
)

_SUBJECTS: Final = (
    connecting,
    flags,
    tensorboards,
)

TRANSLATIONS: Final[Mapping[str, str]] = {
    template: translation for subject in _SUBJECTS for template, translation in subject.TRANSLATIONS.items()
=======
from springtide.messages.zh import connecting, flags, submitting

TRANSLATIONS: Final[Mapping[str, str]] = {
    template: translation
    for subject in (connecting, flags, submitting)
    for template, translation in subject.TRANSLATIONS.items()
>>>>>>> arena
=======
from springtide.messages.zh import connecting, job_verbs

TRANSLATIONS: Final[Mapping[str, str]] = {
    template: translation
    for subject in (connecting, job_verbs)
    for template, translation in subject.TRANSLATIONS.items()
>>>>>>> verbs
}
