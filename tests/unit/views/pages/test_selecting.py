# SPDX-License-Identifier: Apache-2.0
"""`-o jsonpath` and `-o custom-columns`."""

from __future__ import annotations

import pytest

from springtide.views.pages.selecting import SelectionError, Template, custom_columns

JOB = {
    "name": "bert",
    "status": "RUNNING",
    "chief": True,
    "size": 3,
    "progress": None,
    "instances": [
        {"name": "bert-launcher", "chief": True, "node": "a", "labels": {"a.b/c": "x"}},
        {"name": "bert-worker-0", "chief": False, "node": "b"},
    ],
}


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        pytest.param("{.name}", "bert", id="a field"),
        pytest.param(".name", "bert", id="braces may be left out"),
        pytest.param("{$.name}{@.size}", "bert3", id="dollar and at are the document"),
        pytest.param("job {.name} of {.size}", "job bert of 3", id="text around it"),
        pytest.param("{.instances[*].name}", "bert-launcher bert-worker-0", id="all of a list"),
        pytest.param("{.instances[-1].name}", "bert-worker-0", id="the last one"),
        pytest.param("{.instances[0:1].name}", "bert-launcher", id="a slice"),
        pytest.param("{.instances[?(@.chief==true)].node}", "a", id="a filter"),
        pytest.param('{.instances[?(@.node=="b")].name}', "bert-worker-0", id="a filter by text"),
        pytest.param(
            '{range .instances[*]}{.name}{"\\t"}{.node}{"\\n"}{end}',
            "bert-launcher\ta\nbert-worker-0\tb\n",
            id="a range",
        ),
        pytest.param("{.missing}", "", id="a missing field is empty"),
        pytest.param("{.chief}", "true", id="a boolean"),
        pytest.param("{.progress}", "", id="nothing"),
        pytest.param("{.instances[1]}", '{"name":"bert-worker-0","chief":false,"node":"b"}', id="an object is JSON"),
        pytest.param("{.instances[0].labels.a\\.b/c}", "x", id="a field with a dot"),
        pytest.param("name", "name", id="text alone"),
    ],
)
def test_a_template_shows_values_of_a_document(template: str, shown: str) -> None:
    assert Template(template).shown(JOB) == shown


@pytest.mark.parametrize("template", ["{.items[*].name}", "{[*].name}", "[*].name", "{range [*]}{.name} {end}"])
def test_a_list_is_reached_as_items_and_as_a_list(template: str) -> None:
    assert Template(template, listed=True).shown([JOB, {"name": "gpt"}]).rstrip() == "bert gpt"


@pytest.mark.parametrize(
    "template",
    ["{.name", ".name}", "{.a[}", "{end}", "{range .instances[*]}{.name}", "{.instances[a]}", "{nonsense}", "{.a[?(]}"],
)
def test_an_invalid_template_is_an_error(template: str) -> None:
    with pytest.raises(SelectionError):
        Template(template)


def test_a_path_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(SelectionError):
        Template("{.name[*]}").shown(JOB)


def test_custom_columns_are_a_table() -> None:
    shown = custom_columns("NAME:.name,LOSS:.progress.loss,NODES:.instances[*].node", [JOB, {"name": "训练"}])
    assert shown.splitlines() == ["NAME  LOSS    NODES", "bert  <none>  a,b", "训练  <none>  <none>"]


def test_a_comma_in_brackets_does_not_end_a_column() -> None:
    shown = custom_columns("FIRST:.instances[0,1].name,SIZE:{.size}", [JOB])
    assert shown.splitlines() == ["FIRST                        SIZE", "bert-launcher,bert-worker-0  3"]


@pytest.mark.parametrize("text", ["", "NAME", "NAME:", ":.name", "NAME:.a[", "NAME:.name,"])
def test_columns_without_head_or_path_are_an_error(text: str) -> None:
    with pytest.raises(SelectionError):
        custom_columns(text, [JOB])
