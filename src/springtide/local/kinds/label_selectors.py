# SPDX-License-Identifier: Apache-2.0
"""Label and field selectors.

Label selectors have two notations: the `matchLabels`/`matchExpressions` object of workloads and the text `a=b,c in
(d,e),!f` of list queries; both become a `Selector`. Field selectors (`a=b,c!=d`) have only a text. Parse errors have
kube-apiserver's messages, because the API server returns them unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, Self

from springtide.api import whole_numbers
from springtide.api.field_errors import MOST_ERRORS, FieldError, cut, forbidden, invalid, required
from springtide.local.kinds import names
from springtide.local.kinds.label_index import LabelIndex
from springtide.local.kinds.metadata import validate_labels
from springtide.local.kinds.strategy import Obj


class SelectorError(ValueError):
    """The selector is invalid; its text is the complete error message."""


_TEXT = {"=": "=", "==": "==", "!=": "!=", "in": " in ", "notin": " notin ", "gt": ">", "lt": "<"}


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: str  # =, ==, !=, in, notin, gt, lt, exists, !
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "=" | "==" | "in":
                return value in self.values
            case "!=" | "notin":
                return value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
        number, bound = _integer(value), int(self.values[0])
        if number is None:
            return False
        return number > bound if self.operator == "gt" else number < bound

    def __str__(self) -> str:
        match self.operator:
            case "!":
                return f"!{self.key}"
            case "exists":
                return self.key
        joined = ",".join(sorted(self.values))
        if self.operator in ("in", "notin"):
            joined = f"({joined})"
        return f"{self.key}{_TEXT[self.operator]}{joined}"


LIGHT_SELECTOR: Final = 1000
"""Maximum characters of a selector parsed on the event loop: about twenty terms. Longer ones need a thread."""
_FEW: Final = 16


@dataclass(frozen=True)
class Selector:
    """The conjunction of all requirements; without requirements everything is selected."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @property
    def empty(self) -> bool:
        return not self.requirements and not self.nothing

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        if self.nothing:
            return False
        present = labels or {}
        if self._index is not None:
            return self._index.matches(present)
        return all(requirement.matches(present) for requirement in self.requirements)

    def prepare(self) -> Self:
        """Build the index now instead of at the first `matches`; this may take as long as parsing."""
        _ = self._index
        return self

    @property
    def long(self) -> bool:
        """Whether checking all conditions takes longer than looking them up in an index."""
        return sum(1 + len(requirement.values) for requirement in self.requirements) > _FEW

    @cached_property
    def _index(self) -> LabelIndex | None:
        return LabelIndex(self.requirements) if self.long else None

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements)


EVERYTHING = Selector()
NOTHING = Selector(nothing=True)


def _integer(text: str | None) -> int | None:
    return None if text is None else whole_numbers.parse(text)


def _sorted(requirements: Iterable[Requirement]) -> Selector:
    return Selector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


# ---------------------------------------------------------------------------------------------- selectors as objects

_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def from_object(selector: Obj | None) -> Selector:
    """A `metav1.LabelSelector`: an absent one selects nothing, an empty one everything."""
    if selector is None:
        return NOTHING
    found = [_requirement(key, "=", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        operator = _OPERATORS.get(expression.get("operator", ""))
        if operator is None:
            raise SelectorError(f'"{expression.get("operator", "")}" is not a valid label selector operator')
        found.append(_requirement(expression.get("key", ""), operator, tuple(expression.get("values") or ())))
    return _sorted(found)


def quoted(selector: Obj | None) -> Obj | None:
    """The selector as shown in errors: with sorted map keys."""
    if selector is None:
        return None
    shown: Obj = {}
    if labels := selector.get("matchLabels"):
        shown["matchLabels"] = dict(sorted(labels.items()))
    if expressions := selector.get("matchExpressions"):
        shown["matchExpressions"] = [
            {field: expression[field] for field in ("key", "operator", "values") if field in expression}
            for expression in expressions
        ]
    return shown


def validate_selector(selector: Obj | None, path: str) -> list[FieldError]:
    if not selector:
        return []
    errors = validate_labels(selector.get("matchLabels") or {}, f"{path}.matchLabels")
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        errors += _validate_expression(expression, f"{path}.matchExpressions[{index}]")
    return errors


def _validate_expression(expression: Obj, path: str) -> list[FieldError]:
    operator, key, values = expression.get("operator", ""), expression.get("key", ""), expression.get("values") or ()
    errors: list[FieldError] = []
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(f"{path}.values", detail))
    else:
        errors.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    errors += [invalid(f"{path}.key", key, why) for why in names.qualified_name(key)]
    for index, value in enumerate(values):
        errors += [invalid(f"{path}.values[{index}]", value, why) for why in names.label_value(value)]
    return errors


# ------------------------------------------------------------------------------------------------- selectors as text

_BLANKS = (" ", "\t", "\r", "\n")  # other Unicode whitespace is part of a word, and rejected there
_WORD = re.compile(r"[^=!(),>< \t\r\n]+")
_SIGNS = ("==", "!=", "=", "!", "(", ")", ",", ">", "<")  # the longer ones first
_COMPARE = {"in": "in", "notin": "notin", "=": "=", "==": "==", "!=": "!=", ">": "gt", "<": "lt"}
_EXPECTED_OPERATOR = "in, notin, =, ==, !=, gt, lt"


class _Token(NamedTuple):
    text: str
    word: bool = False


_END = _Token("")


def parse(text: str) -> Selector:
    """`a=b,c in (d,e),!f`; raises SelectorError."""
    return _Parser(list(_tokens(text))).selector() if text else EVERYTHING


def _tokens(text: str) -> Iterable[_Token]:
    text = text.strip("".join(_BLANKS))
    position = 0
    while position < len(text):
        if word := _WORD.match(text, position):
            yield _Token(word.group(), word=True)
            position = word.end()
        else:
            sign = next(sign for sign in _SIGNS if text.startswith(sign, position))
            yield _Token(sign)
            position += len(sign)
        while text[position : position + 1] in _BLANKS:
            position += 1
    yield _END


class _Parser:
    """Recursive descent over the tokens; `in` and `notin` are words except where an operator is expected."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.position = 0

    def peek(self) -> _Token:
        return self.tokens[min(self.position, len(self.tokens) - 1)]

    def take(self) -> _Token:
        token = self.peek()
        self.position += 1
        return token

    def selector(self) -> Selector:
        found: list[Requirement] = []
        if self.peek() is _END:
            return EVERYTHING
        if not self._starts_requirement():
            raise SelectorError(f"found '{cut(self.peek().text)}', expected: !, identifier, or 'end of string'")
        while True:
            try:
                found.append(self.requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            token = self.take()
            if token is _END:
                return _sorted(found)
            if token.text != ",":
                raise SelectorError(f"found '{cut(token.text)}', expected: ',' or 'end of string'")
            if not self._starts_requirement():
                raise SelectorError(f"found '{cut(self.peek().text)}', expected: identifier after ','")

    def _starts_requirement(self) -> bool:
        token = self.peek()
        return token.word or token.text == "!"

    def requirement(self) -> Requirement:
        token = self.take()
        negated = token.text == "!"
        if negated:
            token = self.take()
        if not token.word:
            raise SelectorError(f"found '{cut(token.text)}', expected: identifier")
        if complaints := names.qualified_name(token.text):
            raise SelectorError(str(invalid("<nil>", token.text, "; ".join(complaints))))
        if negated or self.peek() is _END or self.peek().text == ",":
            return _requirement(token.text, "!" if negated else "exists", ())
        operator = self.operator()
        values = self.values() if operator in ("in", "notin") else self.value()
        return _requirement(token.text, operator, tuple(sorted(values)))

    def operator(self) -> str:
        token = self.take()
        operator = _COMPARE.get(token.text)
        if operator is None:
            raise SelectorError(f"found '{cut(token.text)}', expected: {_EXPECTED_OPERATOR}")
        return operator

    def value(self) -> set[str]:
        token = self.peek()
        if token is _END or token.text == ",":
            return {""}
        self.take()
        if not token.word:
            raise SelectorError(f"found '{cut(token.text)}', expected: identifier")
        return {token.text}

    def values(self) -> set[str]:
        token = self.take()
        if token.text != "(":
            raise SelectorError(f"found '{cut(token.text)}' expected: '('")
        token = self.peek()
        if token.text == ")":
            self.take()
            return {""}
        if not token.word and token.text != ",":
            raise SelectorError(f"found '{cut(token.text)}', expected: ',', ')' or identifier")
        found = self._listed()
        self.take()
        return found

    def _listed(self) -> set[str]:
        """The values up to the closing parenthesis; nothing between two commas is the empty value."""
        found: set[str] = set()
        while True:
            token = self.take()
            if token.word:
                found.add(token.text)
                if self.peek().text not in (",", ")"):
                    raise SelectorError(f"found '{cut(self.peek().text)}', expected: ',' or ')'")
                if self.peek().text == ")":
                    return found
            elif token.text == ",":
                if not found or self.peek().text in (",", ")"):
                    found.add("")
                if self.peek().text == ")":
                    return found
            else:
                raise SelectorError(f"found '{cut(token.text)}', expected: ',', or identifier")


def _requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    """A requirement, checked as in Go's labels.NewRequirement; several errors are listed in brackets."""
    errors = [invalid("key", key, "; ".join(complaints))] if (complaints := names.qualified_name(key)) else []
    if operator in ("in", "notin") and not values:
        errors.append(invalid("values", [], "for 'in', 'notin' operators, values set can't be empty"))
    if operator in ("exists", "!") and values:
        errors.append(invalid("values", list(values), "values set must be empty for exists and does not exist"))
    if operator in ("gt", "lt") and _integer(values[0]) is None:
        errors.append(invalid("values[0]", values[0], "for 'Gt', 'Lt' operators, the value must be an integer"))
    for index, value in enumerate(values):
        if len(errors) < MOST_ERRORS and (complaints := names.label_value(value)):
            errors.append(invalid(f"values[{index}][{key}]", value, "; ".join(complaints)))
    if errors:
        texts = list(dict.fromkeys(str(error) for error in errors))
        raise SelectorError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
    return Requirement(key, operator, values)


# --------------------------------------------------------------------------------------------------- field selectors


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    field: str
    value: str
    equal: bool = True


_FIELD_TERM = re.compile(r"(?:[^\\,]|\\.)*(?:\\$)?", re.DOTALL)
_FIELD_OPERATOR = re.compile("!=|==|=")


def parse_fields(text: str) -> tuple[FieldRequirement, ...]:
    """Parse `a=b,c!=d` with `\\` escapes; raises SelectorError. The caller checks that the fields exist."""
    found = []
    for term in sorted(_field_terms(text)):
        if not term:
            continue
        operator = _FIELD_OPERATOR.search(term)
        if operator is None:
            raise SelectorError(f"invalid selector: '{cut(text)}'; can't understand '{cut(term)}'")
        value = _unescaped(term[operator.end() :])
        found.append(FieldRequirement(term[: operator.start()], value, operator.group() != "!="))
    return tuple(found)


def _field_terms(text: str) -> list[str]:
    terms, start = [], 0
    while True:
        term = _FIELD_TERM.match(text, start)
        assert term is not None  # it matches the empty text too
        terms.append(term.group())
        start = term.end() + 1
        if term.end() >= len(text):
            return terms


def _unescaped(value: str) -> str:
    kept: list[str] = []
    letters = iter(value)
    for letter in letters:
        if letter == "\\":
            escaped = next(letters, "")
            if escaped not in ("\\", ",", "="):
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{escaped}")
            kept.append(escaped)
        elif letter in ",=":
            # Go prints the character's number.
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(letter)}")
        else:
            kept.append(letter)
    return "".join(kept)
