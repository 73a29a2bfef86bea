# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from springtide import messages
from springtide.messages import Language, shown, text

SAID = text("There is no cluster to use.")


def test_a_message_is_shown_in_either_language() -> None:
    assert shown(SAID, Language.ENGLISH) == "There is no cluster to use."
    assert shown(SAID, Language.CHINESE) == "没有可用的集群。"


def test_values_may_be_messages_themselves_and_are_left_as_they_are_otherwise() -> None:
    assert shown(text("error: {message}", message=SAID), Language.CHINESE) == "错误：没有可用的集群。"
    assert shown(text("error: {message}", message="{odd} %s"), Language.ENGLISH) == "error: {odd} %s"


def test_a_message_without_translation_is_shown_in_english() -> None:
    assert shown(text("Never translated {number}.", number=3), Language.CHINESE) == "Never translated 3."


@pytest.mark.parametrize(
    ("variables", "chosen", "language"),
    [
        ({}, "", Language.ENGLISH),
        ({"LANG": "zh_CN.UTF-8"}, "", Language.CHINESE),
        ({"LANG": "zh_CN.UTF-8"}, "en", Language.ENGLISH),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "", Language.ENGLISH),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_TW"}, "", Language.CHINESE),
        ({"LANG": "C"}, "zh", Language.CHINESE),
    ],
)
def test_the_language_is_the_chosen_one_or_the_locale_s(
    variables: dict[str, str], chosen: str, language: Language
) -> None:
    assert messages.language(variables, chosen) is language
