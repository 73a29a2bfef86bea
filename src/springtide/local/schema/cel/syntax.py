# SPDX-License-Identifier: Apache-2.0
"""Parser from CEL text to a tree. Macros remain calls; the compiler handles them.

Every node has the position that cel-go reports: a select its dot, a call its parenthesis, an operator itself.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from springtide.local.schema.cel import LONGEST


@dataclass(frozen=True, slots=True)
class Literal:
    at: int
    value: bool | int | float | str | bytes | None
    type: str


@dataclass(frozen=True, slots=True)
class Ident:
    at: int
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    at: int
    operand: Expr
    field: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    at: int
    operand: Expr
    key: Expr
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    at: int
    name: str
    target: Expr | None
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    at: int
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class MapOf:
    at: int
    entries: tuple[tuple[Expr, Expr], ...]


Expr: TypeAlias = Literal | Ident | Select | Index | Call | ListOf | MapOf

Issue: TypeAlias = tuple[int, str]
"""Offset in the text, and the error there."""
NOWHERE: Final = -1
"""Offset of an issue of the whole expression."""


class CelSyntaxError(Exception):
    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.issue: Issue = (at, message)


_MOST_ISSUES: Final = 100
_LONGEST_LINE: Final = 16384
_LONGEST_REPORT: Final = 256 * 1024


def report(text: str, issues: list[Issue]) -> str:
    """The issues as cel-go prints them, each with its line and a mark under the position; limited in number."""
    lines: list[str] = []
    length = 0
    for at, message in sorted(issues, key=lambda issue: issue[0])[:_MOST_ISSUES]:
        lines.append(_reported(text, at, message))
        length += len(lines[-1])
        if length > _LONGEST_REPORT:
            break
    if len(lines) < len(issues):
        lines.append(f"{len(issues) - len(lines)} more errors were truncated")
    return "\n".join(lines)


def _reported(text: str, at: int, message: str) -> str:
    if at == NOWHERE:
        return f"ERROR: <input>:-1:0: {message}"
    start = text.rfind("\n", 0, at) + 1
    line = text.count("\n", 0, at) + 1
    end = text.find("\n", start)
    source = text[start : end if end >= 0 else None]
    if len(source) > _LONGEST_LINE:
        return f"ERROR: <input>:{line}:{at - start + 1}: {message}"
    return f"ERROR: <input>:{line}:{at - start + 1}: {message}\n | {source}\n | {'.' * (at - start)}^"


class Token(NamedTuple):
    kind: str
    text: str
    at: int


_TOKENS: Final = re.compile(
    r"""(?P<space>(?:\s+|//[^\n]*)+)
      |(?P<float>(?:\d+\.\d+|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
      |(?P<int>0x[0-9a-fA-F]+[uU]?|\d+[uU]?)
      |(?P<string>[bBrR]{0,2}(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
      |(?P<ident>[_a-zA-Z][_a-zA-Z0-9]*)
      |(?P<op>==|!=|<=|>=|&&|\|\||[-+*/%!<>?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL,
)
_RAW_STRING: Final = re.compile(r"""([bBrR]*)("{3}|'{3}|"|')(.*)\2""", re.DOTALL)
_EXPECTED: Final = (
    "expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
    "IDENTIFIER}"
)
_KEYWORDS: Final = (
    "as break const continue else for function if import let loop package namespace return var void while"
)
RESERVED: Final = frozenset({"true", "false", "null", "in", *_KEYWORDS.split()})
_LITERALS: Final = {"true": (True, "bool"), "false": (False, "bool"), "null": (None, "null")}
_LEVELS: Final = (
    ("==", "!=", "<", "<=", ">", ">=", "in"),
    ("+", "-"),
    ("*", "/", "%"),
)
_DEEPEST: Final = 50  # nested brackets, each a dozen Python calls; more than anyone writes by hand
_LONGEST_CHAIN: Final = 150  # operators, selections or calls in sequence, which nest in the tree


def parse(text: str) -> Expr:
    """The tree of an expression; raises `CelSyntaxError`."""
    if len(text) > LONGEST:
        raise CelSyntaxError(NOWHERE, f"expression code point size exceeds limit: size: {len(text)}, limit {LONGEST}")
    return _Parser(text).whole()


def _tokens(text: str) -> list[Token]:
    found, at = [], 0
    while at < len(text):
        match = _TOKENS.match(text, at)
        if match is None:
            raise CelSyntaxError(at, f"Syntax error: token recognition error at: '{text[at:]}'")
        kind = match.lastgroup or ""
        if kind != "space":
            found.append(Token(kind, match.group(), at))
        at = match.end()
    return [*found, Token("end", "<EOF>", len(text))]


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._next = 0
        self._depth = 0

    def whole(self) -> Expr:
        expr = self._expression()
        if self._peek().kind != "end":
            token = self._peek()
            raise CelSyntaxError(token.at, f"Syntax error: extraneous input '{token.text}' expecting <EOF>")
        return expr

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next += token.kind != "end"
        return token

    def _accept(self, *texts: str) -> Token | None:
        token = self._peek()
        return self._take() if token.text in texts and token.kind in ("op", "ident") else None

    def _expect(self, text: str) -> Token:
        token = self._accept(text)
        if token is None:
            found = self._peek()
            raise CelSyntaxError(found.at, f"Syntax error: missing '{text}' at '{found.text}'")
        return token

    def _expression(self) -> Expr:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise CelSyntaxError(NOWHERE, f"expression recursion limit exceeded: {_DEEPEST}")
        found = self._logical("||", "&&")
        choices: list[tuple[Token, Expr, Expr]] = []
        while (question := self._accept("?")) is not None:
            chosen = self._logical("||", "&&")
            self._expect(":")
            choices.append((question, found, chosen))
            found = self._logical("||", "&&")
        _check_chain(len(choices))
        for question, condition, chosen in reversed(choices):
            found = Call(question.at, "_?_:_", None, (condition, chosen, found))
        self._depth -= 1
        return found

    def _logical(self, operator: str, tighter: str = "") -> Expr:
        def inner() -> Expr:
            return self._logical(tighter) if tighter else self._binary(0)

        terms, places = [inner()], []
        while (token := self._accept(operator)) is not None:
            places.append(token.at)
            terms.append(inner())
        return _balanced(f"_{operator}_", terms, places)

    def _binary(self, level: int) -> Expr:
        if level == len(_LEVELS):
            return self._unary()
        left, chain = self._binary(level + 1), 0
        while (token := self._accept(*_LEVELS[level])) is not None:
            name = "@in" if token.text == "in" else f"_{token.text}_"
            left = Call(token.at, name, None, (left, self._binary(level + 1)))
            chain = _check_chain(chain + 1)
        return left

    def _unary(self) -> Expr:
        token = self._accept("-", "!")
        if token is None:
            return self._member()
        signs = 1
        while self._accept(token.text) is not None:
            signs += 1
        if token.text == "-" and signs == 1 and self._peek().kind in ("int", "float"):
            return self._negative(token)
        following = self._peek()
        if following.kind == "op" and following.text in ("-", "!"):
            self._take()
            if following.text == "!" or self._peek().kind not in ("int", "float"):
                message = f"Syntax error: no viable alternative at input '{token.text}{following.text}'"
                raise CelSyntaxError(following.at, message)
            operand = self._negative(following)
        else:
            operand = self._member()
        return Call(token.at, f"{token.text}_", None, (operand,)) if signs % 2 else operand

    def _negative(self, sign: Token) -> Expr:
        """A negative number literal: the sign is part of it, so that the smallest integer can be written."""
        number = self._take()
        return self._members(_number(Token(number.kind, f"-{number.text}", sign.at)))

    def _member(self) -> Expr:
        return self._members(self._primary())

    def _members(self, expr: Expr) -> Expr:
        chain = 0
        while (token := self._accept(".", "[")) is not None:
            chain = _check_chain(chain + 1)
            optional = self._accept("?") is not None
            if token.text == "[":
                key = self._expression()
                self._expect("]")
                expr = Index(token.at, expr, key, optional)
                continue
            name = self._take()
            if name.kind != "ident" or name.text in ("in", *_LITERALS):
                raise CelSyntaxError(name.at, f"Syntax error: no viable alternative at input '.{name.text}'")
            opening = None if optional else self._accept("(")
            if opening is None:
                expr = Select(token.at, expr, name.text, optional)
            else:
                expr = Call(opening.at, name.text, expr, self._until(")"))
        return expr

    def _until(self, closing: str) -> tuple[Expr, ...]:
        found: list[Expr] = []
        while self._accept(closing) is None:
            if found:
                self._expect(",")
                if closing != ")" and self._accept(closing) is not None:
                    break
            found.append(self._expression())
        return tuple(found)

    def _primary(self) -> Expr:
        token = self._take()
        match token.kind, token.text:
            case (("int" | "float"), _):
                return _number(token)
            case "string", _:
                return _string(token)
            case "ident", ("true" | "false" | "null"):
                return Literal(token.at, *_LITERALS[token.text])
            case "ident", _:
                return self._name(token)
            case "op", "(":
                inner = self._expression()
                self._expect(")")
                return inner
            case "op", "[":
                return ListOf(token.at, self._until("]"))
            case "op", "{":
                return self._map(token)
        if (token.kind, token.text) == ("op", "."):
            return self._name(self._take())
        raise CelSyntaxError(token.at, f"Syntax error: mismatched input '{token.text}' {_EXPECTED}")

    def _name(self, token: Token) -> Expr:
        if token.text in RESERVED:
            raise CelSyntaxError(token.at, f"reserved identifier: {token.text}")
        opening = self._accept("(")
        if opening is not None:
            return Call(opening.at, token.text, None, self._until(")"))
        return Ident(token.at, token.text)

    def _map(self, opening: Token) -> Expr:
        entries: list[tuple[Expr, Expr]] = []
        while self._accept("}") is None:
            if entries:
                self._expect(",")
                if self._accept("}") is not None:
                    break
            key = self._expression()
            self._expect(":")
            entries.append((key, self._expression()))
        return MapOf(opening.at, tuple(entries))


def _check_chain(length: int) -> int:
    if length > _LONGEST_CHAIN:
        raise CelSyntaxError(NOWHERE, "max recursion depth exceeded")
    return length


def _balanced(name: str, terms: list[Expr], places: list[int]) -> Expr:
    """A chain of `&&` or `||` as a balanced tree, as in cel-go: thousands of terms are allowed."""
    if len(terms) == 1:
        return terms[0]
    middle = (len(terms) + 1) // 2
    left = _balanced(name, terms[:middle], places[: middle - 1])
    return Call(places[middle - 1], name, None, (left, _balanced(name, terms[middle:], places[middle:])))


_LONGEST_NUMBER: Final = 4000  # digits; Python converts no more, and none of these fit 64 bits


def _number(token: Token) -> Literal:
    text = token.text
    if token.kind == "float":
        if math.isinf(value := float(text)):
            raise CelSyntaxError(token.at, "invalid double literal")
        return Literal(token.at, value, "double")
    unsigned = text[-1] in "uU"
    digits = text[:-1] if unsigned else text
    if len(digits) > _LONGEST_NUMBER:
        raise CelSyntaxError(token.at, f"invalid {'uint' if unsigned else 'int'} literal")
    value = int(digits, 16 if "0x" in digits else 10)
    if unsigned:
        if not 0 <= value < 2**64:
            raise CelSyntaxError(token.at, "invalid uint literal")
        return Literal(token.at, value, "uint")
    if not -(2**63) <= value < 2**63:
        raise CelSyntaxError(token.at, "invalid int literal")
    return Literal(token.at, value, "int")


_ESCAPE: Final = re.compile(
    r"\\(x[0-9a-fA-F]{2}|X[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)", re.DOTALL
)
_SIMPLE: Final = dict(zip("abfnrtv\\?\"'`", "\a\b\f\n\r\t\v\\?\"'`", strict=True))


def _string(token: Token) -> Literal:
    match = _RAW_STRING.fullmatch(token.text)
    assert match is not None
    prefix, _, body = match.groups()
    prefix = prefix.lower()
    if "r" not in prefix:
        body = _ESCAPE.sub(lambda escape: _unescaped(escape[1], token.at), body)
    if "b" not in prefix:
        return Literal(token.at, body, "string")
    # Escapes in bytes are bytes, everything else is UTF-8.
    raw = body.encode("latin-1") if all(ord(char) < 256 for char in body) and "\\" in match[3] else body.encode()
    return Literal(token.at, raw, "bytes")


def _unescaped(escape: str, at: int) -> str:
    if escape in _SIMPLE:
        return _SIMPLE[escape]
    if escape[0] in "xXuU" and len(escape) > 1:
        point = int(escape[1:], 16)
        if point > 0x10FFFF or 0xD800 <= point < 0xE000:
            raise CelSyntaxError(at, "invalid unicode code point")
        return chr(point)
    if escape.isdigit():
        return chr(int(escape, 8))
    raise CelSyntaxError(at, f"Syntax error: token recognition error at: '\\{escape}'")
