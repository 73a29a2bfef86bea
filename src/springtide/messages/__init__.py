# SPDX-License-Identifier: Apache-2.0
"""Messages to people, in English and Chinese.

    text("Job {name} is suspended.", name="bert")        a message that is not shown yet
    shown(text(...), Language.CHINESE)                   the sentence

The English template is the key of its translation, which stands in a module of `zh`. Pure packages return messages; the
command line and the console show them in the user's language.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from springtide.messages.terminals import harmless


class Language(Enum):
    ENGLISH = "en"
    CHINESE = "zh"


class Text(NamedTuple):
    template: str
    values: Mapping[str, object]


class FromOperator(NamedTuple):
    """A text that the operator recorded in English, as a value of a message."""

    said: str


def text(template: str, **values: object) -> Text:
    """Values may be messages themselves. Texts among them may be of anybody: they are shown without what a terminal
    would obey."""
    return Text(template, values)


def shown(message: Text, language: Language) -> str:
    template = message.template
    if language is Language.CHINESE:
        # Imported here because most runs show English, and the translations are large.
        from springtide.messages.zh import TRANSLATIONS  # noqa: PLC0415

        template = TRANSLATIONS.get(template, template)
    values = {name: _shown(value, language) for name, value in message.values.items()}
    return template.format_map(values) if values else template


def _shown(value: object, language: Language) -> object:
    if isinstance(value, FromOperator):
        return harmless(recorded_text(value.said, language))
    if isinstance(value, Text):
        return shown(value, language)
    return harmless(os.fspath(value)) if isinstance(value, (str, os.PathLike)) else value


def recorded_text(said: str, language: Language) -> str:
    """What the operator recorded, such as `status.explanation`. What is not recognised stays English."""
    if language is not Language.CHINESE:
        return said
    from springtide.messages.recorded import translated  # noqa: PLC0415
    from springtide.messages.zh.operator import CLAUSES  # noqa: PLC0415

    return translated(said, CLAUSES)


def language(variables: Mapping[str, str], chosen: str = "") -> Language:
    """The language of a terminal: as chosen, else as the locale's variables say, in the order of POSIX."""
    locale = chosen or next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := variables.get(name))), "")
    return Language.CHINESE if locale.lower().startswith("zh") else Language.ENGLISH
