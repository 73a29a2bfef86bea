# SPDX-License-Identifier: Apache-2.0
"""docs/glossary.md and its translation have every state, condition type and reason of the operator, and no others.

Reasons are read off the source: a class with a field `reason`, or a function with a parameter of that name, is a place
that takes one, and each call of it gives one. What a call gives is evaluated as far as it is written down: constants,
imported names, either branch of a condition, `f"{kind}Failed"` with MPIJob for the kind. Reasons that Kubernetes gives,
such as those of a kubelet, are attributes (`pod.reason`) and are passed on as they are.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import pytest
from tests.docs.pages import DOCS, ROOT, sections

from springtide.api.kinds import conditions
from springtide.jobs.kinds.elastic_training import phases
from springtide.jobs.observed import RUNNING
from springtide.jobs.reporting import wait_causes
from springtide.jobs.reporting.state_name import StateName
from springtide.jobs.scaling import statuses
from springtide.kube.events import EventRecorder

PAGES = ("glossary.md", "zh/glossary.md")
SOURCE = ROOT / "src"
SCANNED = (*(SOURCE / "springtide" / "jobs").rglob("*.py"), *(SOURCE / "springtide" / "controllers").rglob("*.py"))
OBSERVED = ("observed", "views", "inquiring")
"""What Kubernetes reports: its classes have reasons that the operator does not choose."""
EVENTS_ONLY = frozenset({"Decision", "Event", "ScalerEvent", "Step", "record"})
CONDITIONS_ONLY = frozenset({"false", "SetBack"})
OF_PODS = frozenset({"_of_pods", "_rank"})
"""Functions of `wait_causes` that take a reason as a pod has it."""
pages = pytest.mark.parametrize("page", PAGES)

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


# What the source says.


@dataclass(frozen=True)
class Given:
    """A reason, and the call that gives it."""

    to: str
    reason: str
    type: str = ""


@dataclass(frozen=True)
class Module:
    tree: ast.Module
    loaded: ModuleType
    functions: dict[str, Function]

    @classmethod
    def of(cls, path: Path) -> Module:
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        tree = ast.parse(path.read_bytes())
        functions = {each.name: each for each in ast.walk(tree) if isinstance(each, Function)}
        return cls(tree, importlib.import_module(name), functions)

    def called(self, call: ast.Call) -> Callable[..., object] | None:
        """What a call calls, where that is a name of the module or of one that it imports."""
        match call.func:
            case ast.Name(name):
                return getattr(self.loaded, name, None)
            case ast.Attribute(ast.Name(name), attribute) if isinstance(getattr(self.loaded, name, None), ModuleType):
                return getattr(getattr(self.loaded, name), attribute, None)
            case ast.Attribute(_, "record"):
                return EventRecorder.__new__(EventRecorder).record
        return None

    def strings(self, node: ast.expr, scope: ast.AST) -> set[str]:
        """The strings that an expression may be, as far as they are written down."""
        match node:
            case ast.Constant(str(text)):
                return {text}
            case ast.IfExp(_, body, other):
                return self.strings(body, scope) | self.strings(other, scope)
            case ast.BoolOp(_, values):
                return set().union(*(self.strings(each, scope) for each in values))
            case ast.JoinedStr(values):
                return {"".join(parts) for parts in product(*(self.strings(each, scope) for each in values))}
            case ast.FormattedValue(value):
                return self.strings(value, scope)
            case ast.Attribute(_, "kind"):
                return {"MPIJob"}
            case ast.Attribute(ast.Name(name), attribute):
                return _text(getattr(getattr(self.loaded, name, None), attribute, None))
            case ast.Call(ast.Attribute(ast.Name(name), "get")):
                return set(getattr(self.loaded, name, {}).values())
            case ast.Name(name):
                return self._assigned(name, node.lineno, scope) or _text(getattr(self.loaded, name, None))
        return set()

    def _assigned(self, name: str, line: int, scope: ast.AST) -> set[str]:
        """What a name was set to above this line."""
        found: set[str] = set()
        for node in (each for each in ast.walk(scope) if getattr(each, "lineno", line) < line):
            match node:
                case ast.Assign([ast.Name(target)], value) if target == name:
                    found |= self.strings(value, scope)
                case ast.Assign([ast.Tuple(targets)], value):
                    names = [each.id if isinstance(each, ast.Name) else "" for each in targets]
                    if name in names:
                        for scope_of_it, each in self._element(value, names.index(name), scope):
                            found |= self.strings(each, scope_of_it)
        return found

    def _element(self, value: ast.expr, index: int, scope: ast.AST) -> Iterator[tuple[ast.AST, ast.expr]]:
        """One part of what is unpacked: of a tuple, or of those that a function of this module returns."""
        match value:
            case ast.Tuple(elements):
                yield scope, elements[index]
            case ast.Call(ast.Name(name)) if name in self.functions:
                for node in ast.walk(self.functions[name]):
                    if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
                        yield self.functions[name], node.value.elts[index]


def _text(value: object) -> set[str]:
    return {str(value)} if isinstance(value, str) else set()


def _taken(call: ast.Call, module: Module) -> ast.expr | None:
    """What a call gives as a reason, if it is one that takes any."""
    function = module.called(call)
    taker = getattr(function, "__module__", "").rpartition(".")[2]
    if not callable(function) or taker in OBSERVED or _name(call) in OF_PODS:
        return None
    try:
        bound = inspect.signature(function).bind_partial(
            *call.args, **{str(each.arg): each.value for each in call.keywords}
        )
    except (TypeError, ValueError):  # with `*arguments`, or of a class of C
        return None
    return bound.arguments.get("reason")


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


@functools.cache
def given() -> tuple[frozenset[Given], frozenset[str]]:
    """All reasons that are given, and the calls of which none could be read."""
    found: set[Given] = set()
    unread: set[str] = set()
    for path in SCANNED:
        module = Module.of(path)
        for scope in (each for each in ast.walk(module.tree) if isinstance(each, Function)):
            for node in ast.walk(scope):
                if isinstance(node, ast.Call) and (reason := _taken(node, module)) is not None:
                    to, texts = _name(node), module.strings(reason, scope)
                    types = module.strings(node.args[0], scope) if to in ("true", "false") else {""}
                    found |= {Given(to, *each) for each in product(texts or {""}, types or {""})}
                    if not texts and not _is_passed_on(reason, scope):
                        unread.add(f"{path.relative_to(SOURCE)}:{node.lineno}: {ast.unparse(node)}")
    return frozenset(found), frozenset(unread)


def _is_passed_on(node: ast.expr, scope: ast.AST) -> bool:
    """The reason comes from elsewhere: an attribute, a parameter, or a part of a matched pattern."""
    if isinstance(node, ast.IfExp):
        return _is_passed_on(node.body, scope) and _is_passed_on(node.orelse, scope)
    if isinstance(node, ast.Attribute):
        return node.attr == "reason"
    captured = {each.name for each in ast.walk(scope) if isinstance(each, ast.MatchAs)}
    parameters = {each.arg for each in ast.walk(scope) if isinstance(each, ast.arg)}
    return isinstance(node, ast.Name) and node.id in captured | parameters


def of_waits() -> set[str]:
    """Why a job waits, where the operator itself knows the cause. Quiet causes are in the explanation alone."""
    known = {value for name, value in vars(wait_causes).items() if re.fullmatch("[A-Z_]+", name) and name[0] != "_"}
    return {each for each in known if isinstance(each, str)} - {wait_causes.WAITING, RUNNING} - wait_causes._QUIET


def types_in_source() -> set[str]:
    return {each.type for each in given()[0] if each.type}


def condition_reasons() -> set[str]:
    return {each.reason for each in given()[0] if each.to not in EVENTS_ONLY} - {""} | of_waits()


def event_reasons() -> set[str]:
    """Conditions that come to be are events too; of those that end only a suspension. That a scaler is created needs
    no event."""
    resumed = {each.reason for each in given()[0] if (each.to, each.type) == ("false", conditions.SUSPENDED)}
    told = (each for each in given()[0] if each.to not in CONDITIONS_ONLY and each.type not in phases.STEPS)
    return {each.reason for each in told} - {"", statuses.ACCEPTED} | of_waits() | resumed


# What the pages say.


def rows(page: str, section: int, columns: int = 1) -> list[tuple[str, ...]]:
    """The first cells of the rows of a section's table, without its head."""
    text = (DOCS / page).read_text().split("\n## ")[section]
    lines = [line for line in text.splitlines() if line.startswith("| ")][1:]
    return [tuple(cell.strip(" `") for cell in line.split("|")[1 : 1 + columns]) for line in lines]


WORDS, STATES, CONDITIONS, EVENTS = range(1, 5)


def test_every_call_that_gives_a_reason_can_be_read() -> None:
    assert sorted(given()[1]) == []


@pages
def test_every_state_is_listed_and_no_other(page: str) -> None:
    assert rows(page, STATES) == [(each.value,) for each in StateName]


@pages
def test_every_condition_is_listed_and_no_other(page: str) -> None:
    listed = rows(page, CONDITIONS, 3)
    assert {type_ for type_, _, _ in listed} == types_in_source()
    assert {reason for _, _, reason in listed} == condition_reasons()
    assert len(set(listed)) == len(listed)


@pages
def test_a_reason_stands_beside_the_type_and_status_that_it_is_given_with(page: str) -> None:
    found = {(each.type, each.to.title(), each.reason) for each in given()[0] if each.type and each.reason}
    assert found - set(rows(page, CONDITIONS, 3)) == set()


@pages
def test_every_reason_of_events_is_listed_and_no_other(page: str) -> None:
    listed = [reason for (reason,) in rows(page, EVENTS)]
    assert sorted(listed) == sorted(event_reasons())


def test_both_languages_have_the_same_rows_in_the_same_order() -> None:
    original, translated = PAGES
    assert sections(DOCS / original) == sections(DOCS / translated) == EVENTS
    for section, columns in ((WORDS, 1), (STATES, 1), (CONDITIONS, 3), (EVENTS, 1)):
        assert rows(original, section, columns) == rows(translated, section, columns)


def test_every_cell_is_filled() -> None:
    for page in PAGES:
        lines = [line for line in (DOCS / page).read_text().splitlines() if line.startswith("| ")]
        assert [line for line in lines if not all(cell.strip() for cell in line.split("|")[1:-1])] == []


def test_the_pages_link_to_each_other_and_the_page_on_jobs_to_both() -> None:
    for page, other in (("glossary.md", "(zh/glossary.md)"), ("zh/glossary.md", "(../glossary.md)")):
        assert other in (DOCS / page).read_text()
    for page in ("mpijobs.md", "zh/mpijobs.md"):
        assert "(glossary.md)" in (DOCS / page).read_text()
