# SPDX-License-Identifier: Apache-2.0
"""Go regular expressions, as CRD patterns and CEL rules write them, run by Python's `re`.

The syntaxes nearly agree. This translates where they differ (`$` ends the text, `\\z`, POSIX classes, flags in the
middle), refuses what Go refuses (look-around, back-references) in Go's words, and gives up on Unicode classes that `re`
does not know: such a pattern compiles to one that matches everything, because refusing a good object is worse.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7f",
    "blank": "\\t ",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_UNICODE: Final = {"L": "[^\\W\\d_]", "N": "\\d", "Nd": "\\d"}
_GROUP = re.compile(r"\(\?(?:P?<[A-Za-z_]\w*>|[imsU]*(?:-[imsU]+)?:)")
_FLAGS = re.compile(r"\(\?([imsU]*)(?:-[imsU]+)?\)")
_CLASS_NAME = re.compile(r"\[:(\^?)(\w+):\]")
_PROPERTY = re.compile(r"\\[pP](?:\{\^?(\w+)\}|(\w))")
_REPEAT = re.compile(r"[*+?]|\{\d+(?:,\d*)?\}")


class GoRegexError(ValueError):
    """Go would not compile the pattern; the text is Go's."""

    def __init__(self, complaint: str) -> None:
        super().__init__(f"error parsing regexp: {complaint}")


class _UnknownClass(Exception):
    """A Unicode class that `re` cannot express."""


@lru_cache(maxsize=1024)
def compile_go(pattern: str) -> re.Pattern[str]:
    """A Python pattern that `search`es as Go's `MatchString` does."""
    try:
        translated = _Translation(pattern).run()
    except _UnknownClass:
        return re.compile("")
    try:
        return re.compile(translated, 0 if _UNICODE["L"] in translated else re.ASCII)
    except re.error as error:
        raise GoRegexError(_in_gos_words(error, pattern)) from None


def _in_gos_words(error: re.error, pattern: str) -> str:
    if "unterminated subpattern" in error.msg:
        return f"missing closing ): `{pattern}`"
    if "unbalanced parenthesis" in error.msg:
        return f"unexpected ): `{pattern}`"
    if "nothing to repeat" in error.msg:
        return f"missing argument to repetition operator: `{pattern[error.pos or 0 :][:1]}`"
    if "unterminated character set" in error.msg:
        return f"missing closing ]: `{pattern[pattern.rindex('[') :]}`"
    if "bad character range" in error.msg:
        return f"invalid character class range: `{error.msg.rpartition(' ')[2]}`"
    return f"{error.msg}: `{pattern}`"


class _Translation:
    """One walk over a Go pattern; `out` is the Python one so far."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._out: list[str] = []
        self._open: list[int] = [0]
        """For each open group, how many flag groups were opened in it and must end with it."""
        self._multiline = False

    def run(self) -> str:
        while self._at < len(self._pattern):
            self._step(self._pattern[self._at])
        self._out.append(")" * self._open[0])
        return "".join(self._out)

    def _step(self, char: str) -> None:
        if char == "\\":
            self._escape(in_class=False)
        elif char == "[":
            self._bracket()
        elif char == "(":
            self._group()
        elif char == ")":
            self._take(1, ")" * (self._open.pop() + 1) if len(self._open) > 1 else ")")
        elif char == "$":
            self._take(1, "$" if self._multiline else "\\Z")
        elif _REPEAT.match(self._pattern, self._at):
            self._repeat()
        else:
            self._take(1, char)

    def _take(self, length: int, text: str) -> None:
        self._at += length
        self._out.append(text)

    def _repeat(self) -> None:
        match = _REPEAT.match(self._pattern, self._at)
        assert match is not None
        after = _REPEAT.match(self._pattern, match.end())
        if after is not None and after.group() != "?":
            raise GoRegexError(f"invalid nested repetition operator: `{match.group()}{after.group()}`")
        if any(int(count) > 1000 for count in re.findall(r"\d+", match.group())):
            raise GoRegexError(f"invalid repeat count: `{match.group()}`")
        self._take(len(match.group()), match.group())
        if after is not None:
            self._take(1, "?")

    def _group(self) -> None:
        flags = _FLAGS.match(self._pattern, self._at)
        if flags is not None:
            self._multiline = self._multiline or "m" in flags[1]
            wanted = "".join(flag for flag in flags[1] if flag != "U")
            self._take(len(flags.group()), f"(?{wanted}:")
            self._open[-1] += 1
            return
        self._open.append(0)
        if not self._pattern.startswith("(?", self._at):
            self._take(1, "(")
            return
        group = _GROUP.match(self._pattern, self._at)
        if group is None:
            raise GoRegexError(f"invalid or unsupported Perl syntax: `{self._pattern[self._at : self._at + 3]}`")
        text = group.group()
        self._take(len(text), "(?P" + text[2:] if text.startswith("(?<") else text)

    def _escape(self, in_class: bool) -> None:
        pair = self._pattern[self._at : self._at + 2]
        if pair in ("\\p", "\\P"):
            self._property(pair, in_class)
        elif len(pair) < 2:
            raise GoRegexError("trailing backslash at end of expression: ``")
        elif pair[1] in "123456789":
            raise GoRegexError(f"invalid escape sequence: `{pair}`")
        elif pair == "\\z":
            self._take(2, "\\Z")
        elif pair == "\\Q":
            end = self._pattern.find("\\E", self._at)
            literal = self._pattern[self._at + 2 : end if end >= 0 else None]
            self._take(len(literal) + (4 if end >= 0 else 2), re.escape(literal))
        elif pair[1].isalpha() and pair[1] not in "AabBdDfnrsStvwWx":
            raise GoRegexError(f"invalid escape sequence: `{pair}`")
        else:
            self._take(2, pair)

    def _property(self, pair: str, in_class: bool) -> None:
        match = _PROPERTY.match(self._pattern, self._at)
        name = match and (match[1] or match[2])
        if match is None or name is None:
            raise GoRegexError(f"invalid character class range: `{pair}`")
        if pair == "\\P" or in_class or "^" in match.group() or name not in _UNICODE:
            raise _UnknownClass
        self._take(len(match.group()), _UNICODE[name])

    def _bracket(self) -> None:
        start = re.compile(r"\[\^?\]?").match(self._pattern, self._at)
        assert start is not None
        self._take(len(start.group()), start.group().replace("]", "\\]"))
        while self._at < len(self._pattern) and self._pattern[self._at] != "]":
            named = _CLASS_NAME.match(self._pattern, self._at)
            if named is not None:
                if named[1] or named[2] not in _POSIX:
                    raise _UnknownClass
                self._take(len(named.group()), _POSIX[named[2]])
            elif self._pattern[self._at] == "\\":
                self._escape(in_class=True)
            else:
                char = self._pattern[self._at]
                self._take(1, "\\" + char if char in "[&|~" else char)
        if self._at < len(self._pattern):
            self._take(1, "]")
