# SPDX-License-Identifier: Apache-2.0
"""The option `-o`: a table, or documents for other programs."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, TypeVar

import click

from springtide import messages
from springtide.cli import speaking
from springtide.messages import text
from springtide.views.jobs import JobView

F = TypeVar("F", bound=Callable[..., Any])


class Form(Enum):
    TABLE = ""
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"
    JSONPATH = "jsonpath"
    COLUMNS = "custom-columns"


@dataclass(frozen=True, slots=True)
class Output:
    form: Form
    argument: str = ""
    """The template, or the columns."""

    @property
    def is_table(self) -> bool:
        return self.form in (Form.TABLE, Form.WIDE)

    @property
    def needs_documents(self) -> bool:
        return self.form not in (Form.TABLE, Form.WIDE, Form.NAME)


_WITH_ARGUMENT: Final = (Form.JSONPATH, Form.COLUMNS)
_METAVAR: Final = "wide|json|yaml|name|jsonpath=…|custom-columns=…"


class _OutputType(click.ParamType[Output]):
    name = "output"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Output:
        if isinstance(value, Output):
            return value
        word, sign, argument = str(value).partition("=")
        form = next((form for form in Form if form.value == word), None)
        if form is None or bool(sign) is not (form in _WITH_ARGUMENT):
            forms = _METAVAR.replace("…", "TEMPLATE")
            self.fail(speaking.shown(text("{value!r} is none of {forms}", value=str(value), forms=forms)), param, ctx)
        return Output(form, argument)


def output_option(command: F) -> F:
    return click.option(
        "-o",
        "--output",
        type=_OutputType(),
        default="",
        metavar=_METAVAR,
        help="How it is shown. Templates read the document that -o json shows.",
    )(command)


def written(output: Output, documents: Sequence[Any], *, listed: bool) -> str:
    """The documents in the form that was asked for; one alone unless it is `listed`."""
    # Imported here because most commands show a table.
    from springtide.views.pages import formats, selecting  # noqa: PLC0415

    whole = list(documents) if listed else documents[0]
    try:
        match output.form:
            case Form.JSON:
                return formats.json_text(whole)
            case Form.YAML:
                return formats.yaml_text(whole).removesuffix("\n")
            case Form.JSONPATH:
                return selecting.Template(output.argument, listed=listed).shown(whole)
            case _:
                return selecting.custom_columns(output.argument, documents)
    except selecting.SelectionError as error:
        raise click.BadParameter(str(error), param_hint="'-o'") from None


def in_words(view: JobView) -> JobView:
    """With the explanation in the user's language, for people; programs get what the operator wrote."""
    said = messages.recorded_text(view.explanation, speaking.language())
    return view if said == view.explanation else replace(view, explanation=said)


def terminal_width() -> int | None:
    """None where there is no terminal: nothing is shortened for programs."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
