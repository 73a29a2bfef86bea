# SPDX-License-Identifier: Apache-2.0
"""The syntax of flags: Arena's, which is that of the library pflag. Flags may stand anywhere, until `--`.

    --name=a  --name a  -e k=v  -ek=v  -e=k=v  --gang  --gang=false  -fA

Errors are in pflag's words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from springtide.cli.flags.durations import seconds

_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_NUMBER: Final = re.compile(r"[+-]?(?:0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO]?(?:_?[0-7])+|0|[1-9](?:_?[0-9])*)")


class FlagError(Exception):
    """The command line is wrong; the message is what the user reads."""


class HelpWanted(Exception):
    """-h or --help was given."""


class Kind(Enum):
    """What a flag takes, named as in a command's help."""

    STRING = "string"
    INT = "int"
    BOOL = ""
    DURATION = "duration"
    """Seconds."""
    STRINGS = "stringArray"
    """May be given several times; nothing is split."""


_EMPTY: Final[Mapping[Kind, object]] = {
    Kind.STRING: "",
    Kind.INT: 0,
    Kind.BOOL: False,
    Kind.DURATION: 0.0,
    Kind.STRINGS: (),
}


@dataclass(frozen=True, slots=True)
class Flag:
    name: str
    kind: Kind
    help: str = ""
    short: str = ""
    default: Any = None
    required: bool = False
    old_names: tuple[str, ...] = ()
    """Deprecated names of the same flag."""

    @property
    def start(self) -> Any:
        return _EMPTY[self.kind] if self.default is None else self.default

    @property
    def shown(self) -> str:
        """As errors name it."""
        return f"-{self.short}, --{self.name}" if self.short else f"--{self.name}"


@dataclass(slots=True)
class Parsed:
    values: dict[str, Any]
    """By name; every flag has one."""
    arguments: list[str] = field(default_factory=list)
    """What is no flag."""
    given: set[str] = field(default_factory=set)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    """Deprecated names that were given, and the present ones."""
    after_dash: list[str] | None = None
    """The arguments after `--`, where there is one."""

    @property
    def warnings(self) -> list[str]:
        return [f"Flag --{old} has been deprecated, please use --{new} instead" for old, new in self.renamed]


def parsed(flags: Sequence[Flag], words: Sequence[str]) -> Parsed:
    return _Parser(flags).run(words)


def check_required(flags: Sequence[Flag], found: Parsed) -> None:
    missing = sorted(flag.name for flag in flags if flag.required and flag.name not in found.given)
    if missing:
        names = ", ".join(f'"{name}"' for name in missing)
        raise FlagError(f"required flag(s) {names} not set")


def takes_next_word(flags: Sequence[Flag], word: str) -> bool:
    """Whether the value of a flag is the word after it, as far as that can be told without its command."""
    if "=" in word:
        return False
    for flag in flags:
        if word == f"--{flag.name}" or (flag.short and word == f"-{flag.short}"):
            return flag.kind is not Kind.BOOL
    return word.startswith("--") or len(word) == 2


class _Parser:
    def __init__(self, flags: Sequence[Flag]) -> None:
        self._by_name = {name: flag for flag in flags for name in (flag.name, *flag.old_names)}
        self._by_short = {flag.short: flag for flag in flags if flag.short}
        self._found = Parsed({flag.name: flag.start for flag in flags})

    def run(self, words: Sequence[str]) -> Parsed:
        left = list(words)
        while left:
            word = left.pop(0)
            if word == "--":
                self._found.after_dash = left
                self._found.arguments += left
                break
            if word.startswith("--"):
                self._long(word[2:], left)
            elif word.startswith("-") and word != "-":
                self._shorts(word[1:], left)
            else:
                self._found.arguments.append(word)
        return self._found

    def _long(self, word: str, left: list[str]) -> None:
        name, equals, value = word.partition("=")
        if not name or name[0] == "-":
            raise FlagError(f"bad flag syntax: --{word}")
        flag = self._by_name.get(name)
        if flag is None:
            if name == "help":
                raise HelpWanted
            raise FlagError(f"unknown flag: --{name}")
        if not equals:
            if flag.kind is Kind.BOOL:
                value = "true"
            elif left:
                value = left.pop(0)
            else:
                raise FlagError(f"flag needs an argument: --{name}")
        self._set(flag, name, value)

    def _shorts(self, letters: str, left: list[str]) -> None:
        """`-fA`, or a value directly after a letter."""
        while letters:
            whole, letter, letters = letters, letters[0], letters[1:]
            flag = self._by_short.get(letter)
            if flag is None:
                if letter == "h":
                    raise HelpWanted
                raise FlagError(f"unknown shorthand flag: '{letter}' in -{whole}")
            if len(letters) > 1 and letters[0] == "=":
                value, letters = letters[1:], ""
            elif flag.kind is Kind.BOOL:
                value = "true"
            elif letters:
                value, letters = letters, ""
            elif left:
                value = left.pop(0)
            else:
                raise FlagError(f"flag needs an argument: '{letter}' in -{whole}")
            self._set(flag, flag.name, value)

    def _set(self, flag: Flag, name: str, text: str) -> None:
        found = self._found
        try:
            value = _READERS[flag.kind](text)
        except ValueError as error:
            shown = flag.shown if name == flag.name else f"--{name}"
            raise FlagError(f"invalid argument {quoted(text)} for {quoted(shown)} flag: {error}") from None
        if name != flag.name:
            found.renamed.append((name, flag.name))
        found.values[flag.name] = (*found.values[flag.name], value) if flag.kind is Kind.STRINGS else value
        found.given.add(flag.name)


def quoted(text: str) -> str:
    """As Go's %q writes it."""
    return '"' + "".join(_ESCAPES.get(char) or _printable(char) for char in text) + '"'


_ESCAPES: Final = {
    '"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
}  # fmt: skip


def _printable(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _integer(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"strconv.ParseInt: parsing {quoted(text)}: invalid syntax")
    digits = text.lstrip("+-")
    octal = len(digits) > 1 and digits[0] == "0" and digits[1] in "01234567_"
    value = int(digits.replace("_", ""), 8 if octal else 0)
    if value >= 2**63:
        raise ValueError(f"strconv.ParseInt: parsing {quoted(text)}: value out of range")
    return -value if text[0] == "-" else value


def _boolean(text: str) -> bool:
    if text not in _TRUE | _FALSE:
        raise ValueError(f"strconv.ParseBool: parsing {quoted(text)}: invalid syntax")
    return text in _TRUE


def _duration(text: str) -> float:
    try:
        return seconds(text)
    except ValueError as error:
        raise ValueError(f"time: {error}") from None


_READERS: Final[Mapping[Kind, Callable[[str], Any]]] = {
    Kind.STRING: str,
    Kind.INT: _integer,
    Kind.BOOL: _boolean,
    Kind.DURATION: _duration,
    Kind.STRINGS: str,
}
