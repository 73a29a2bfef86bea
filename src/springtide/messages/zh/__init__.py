# SPDX-License-Identifier: Apache-2.0
"""Chinese translations by English template, from one module per subject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from springtide.messages.zh import connecting, flags, showing, submitting

TRANSLATIONS: Final[Mapping[str, str]] = {
    template: translation
    for subject in (connecting, flags, showing, submitting)
    for template, translation in subject.TRANSLATIONS.items()
}
