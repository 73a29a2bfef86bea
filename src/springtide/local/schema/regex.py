# SPDX-License-Identifier: Apache-2.0
"""Go regular expressions in CRD patterns and CEL rules, run by RE2.

Go's `regexp` and RE2 share their syntax and their linear time, so nearly every pattern is passed unchanged. `_to_re2`
handles the rest: names of Unicode classes that Go accepts in any spelling, `\\C`, group names, nesting. Errors are
translated into Go's messages. Linear time is not cheap enough: RE2 may do one step for each instruction and byte, so
each search is charged to a `budget` before it begins, and all compiled patterns together keep at most `CACHE_MEMORY`.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import re2

STEPS: Final = 100_000_000
"""Instructions times bytes for all patterns of one object; half a second when RE2 has to simulate an NFA."""
CACHE_MEMORY: Final = 64 << 20
_SMALL, _LARGE = 1 << 20, 11 << 19
"""RE2's `max_mem`: for nearly all patterns, and for those with larger programs. While it compiles, RE2 uses ten times
as much; a lower limit would reject `[\\p{L}\\p{N} ]{1,253}`."""
_MAX_HEIGHT: Final = 1000
_COMPILING: Final = 25
"""Steps charged for compiling one instruction."""
_LARGEST: Final = 250_000
"""Instructions for which `_LARGE` is sufficient; the steps charged when compilation fails."""

_WORDS: Final = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "pattern too large - compile failed": "expression too large",
}
_TOO_LARGE: Final = "pattern too large - compile failed"
_OF_THE_WHOLE: Final = ("missing )", "unexpected )", _TOO_LARGE)
"""From RE2's error message to Go's, where they differ."""


class GoRegexError(ValueError):
    """The pattern is invalid in Go; the text is Go's."""

    def __init__(self, complaint: str) -> None:
        super().__init__(f"error parsing regexp: {complaint}")


class TooManyStepsError(ValueError):
    """The patterns of one object would exceed the allowed steps."""


class _Budget:
    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = STEPS


_budget: ContextVar[_Budget | None] = ContextVar("steps of regular expressions", default=None)


@contextmanager
def budget() -> Iterator[None]:
    """All searches inside share `STEPS`; outside each search has its own."""
    token = _budget.set(_Budget())
    try:
        yield
    finally:
        _budget.reset(token)


class Pattern:
    """A compiled pattern. Its groups are not kept: neither patterns nor CEL rules can access them."""

    __slots__ = ("_compiled", "memory", "size")

    def __init__(self, source: str) -> None:
        source = _without_surrogates(source)
        translated = _to_re2(source)
        self.memory = _SMALL
        try:
            self._compiled = _compile(translated, _SMALL)
        except _RefusedError as refusal:
            if refusal.complaint != _TOO_LARGE:
                raise GoRegexError(_in_gos_words(refusal.complaint, source)) from None
            self.memory = _LARGE
            try:
                self._compiled = _compile(translated, _LARGE)
            except _RefusedError as larger:
                raise GoRegexError(_in_gos_words(larger.complaint, source)) from None
        self.size: int = self._compiled.programsize
        """Instructions of the compiled program."""

    def search(self, text: str) -> Any:
        """The first match, with `group`, `start` and `end`, or None. May raise TooManyStepsError, as the next two."""
        self._charge(text)
        return self._compiled.search(_without_surrogates(text))

    def matches(self, text: str) -> bool:
        """Whether the pattern matches anywhere in the text."""
        self._charge(text)
        return self._compiled.search(_without_surrogates(text).encode()) is not None

    def findall(self, text: str, limit: int = -1) -> list[str]:
        """The first `limit` matches. RE2 may scan the whole text for each of them."""
        found: list[str] = []
        matches = self._compiled.finditer(_without_surrogates(text))
        while len(found) != limit:
            self._charge(text)
            match = next(matches, None)
            if match is None:
                break
            found.append(match.group())
        return found

    def _charge(self, text: str) -> None:
        _charge(self.size * (len(text) + 1))


_compiled: OrderedDict[str, Pattern] = OrderedDict()
_cache = threading.Lock()
"""Guards the cache: long CEL rules run on threads. It is not held while a pattern is compiled."""


def compile_go(pattern: str) -> Pattern:
    """The compiled pattern, from the cache if it was used recently. Raises GoRegexError or TooManyStepsError."""
    with _cache:
        found = _compiled.pop(pattern, None)
    if found is None:
        _charge(len(pattern))
        found = _charged(pattern)
    with _cache:
        _compiled[pattern] = found
        while len(_compiled) > CACHE_MEMORY // _LARGE and _cached_memory() > CACHE_MEMORY:
            _compiled.popitem(last=False)
    return found


def is_compiled(pattern: str) -> bool:
    """Whether the pattern is in the cache."""
    return pattern in _compiled


def _cached_memory() -> int:
    return sum(each.memory for each in _compiled.values())


def _charged(pattern: str) -> Pattern:
    size = _LARGEST
    try:
        found = Pattern(pattern)
        size = found.size
    except GoRegexError as error:
        if _WORDS[_TOO_LARGE] not in str(error):
            size = len(pattern)
        raise
    finally:
        _charge(size * _COMPILING)
    return found


def _charge(steps: int) -> None:
    shared = _budget.get() or _Budget()
    shared.left -= steps
    if shared.left < 0:
        raise TooManyStepsError(
            f"takes more than {STEPS} steps (size of the pattern times length of the text, for one object): "
            "shorten the text or simplify the pattern"
        )


class _RefusedError(ValueError):
    """RE2 rejects the pattern."""

    def __init__(self, complaint: str) -> None:
        super().__init__(complaint)
        self.complaint = complaint
        """RE2's error message."""


def _compile(pattern: str, memory: int) -> Any:
    options = re2.Options()
    options.max_mem = memory
    options.never_capture = True
    options.log_errors = False
    try:
        return re2._Regexp(pattern, options)  # `re2.compile` would also store it in its own cache
    except re2.error as error:
        first = error.args[0]
        raise _RefusedError(first.decode("utf-8", "replace") if isinstance(first, bytes) else str(first)) from None


def _complaint(pattern: str, memory: int) -> str:
    """RE2's error message for a pattern; empty if it is valid."""
    try:
        _compile(pattern, memory)
    except _RefusedError as refusal:
        return refusal.complaint
    return ""


def _in_gos_words(complaint: str, source: str) -> str:
    what, _, where = complaint.partition(": ")
    return f"{_WORDS.get(what, what)}: `{source if what in _OF_THE_WHOLE else where}`"


def _without_surrogates(text: str) -> str:
    """Replace half a surrogate pair, which is no character, by U+FFFD, as Go does."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


# --- from Go's syntax to RE2's

_INTERESTING = re.compile(r"\\.?|\[|\(\?P?<|\(\?|\(|\)|\{[0-9]{8,}(?:,[0-9]*)?\}", re.DOTALL)
_CLASS_START = re.compile(r"\[\^?\]?")
_POSIX_CLASS = re.compile(r"\[:\^?\w{1,8}:\]", re.ASCII)
_GROUP_NAME = re.compile(r"\w+", re.ASCII)


def _to_re2(pattern: str) -> str:
    walk = _Translation(pattern)
    try:
        return walk.run()
    except GoRegexError as error:
        # Go reports the first error; an open group is not an error yet.
        earlier = _complaint(walk.so_far(), _LARGE)
        if earlier and not earlier.startswith("missing"):
            raise GoRegexError(_in_gos_words(earlier, pattern)) from None
        raise error from None


class _Translation:
    """One walk over a Go pattern; `out` is the RE2 pattern so far."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._out: list[str] = []
        self._open: list[bool] = []  # for each open group, whether it captures and so is a level of Go's tree
        self._depth = 0

    def run(self) -> str:
        while found := _INTERESTING.search(self._pattern, self._at):
            self._copy(found.start())
            self._step(found.group())
        self._copy(len(self._pattern))
        return self.so_far()

    def so_far(self) -> str:
        return "".join(self._out)

    def _copy(self, end: int) -> None:
        self._out.append(self._pattern[self._at : end])
        self._at = end

    def _step(self, text: str) -> None:
        if text[0] == "\\":
            self._escape(text, in_class=False)
        elif text == "[":
            self._class()
        elif text[0] == "(":
            self._group(text)
        elif text[0] == "{":  # RE2 would read a count that overflows as literal text
            raise GoRegexError(f"invalid repeat count: `{text}`")
        else:
            if self._open:
                self._depth -= self._open.pop()
            self._copy(self._at + 1)

    def _group(self, text: str) -> None:
        captures = text != "(?"
        if text.endswith("<") and self._at + len(text) < len(self._pattern):
            self._check_name(len(text))
        self._open.append(captures)
        self._depth += captures
        if self._depth >= _MAX_HEIGHT:
            raise GoRegexError(f"expression nests too deeply: `{self._pattern}`")
        self._copy(self._at + len(text))

    def _check_name(self, start: int) -> None:
        """Check a group name: RE2 keeps no groups here, and would accept any name."""
        end = self._pattern.find(">", self._at)
        if end < 0:
            raise GoRegexError(f"invalid named capture: `{self._pattern[self._at :]}`")
        if _GROUP_NAME.fullmatch(self._pattern[self._at + start : end]) is None:
            raise GoRegexError(f"invalid named capture: `{self._pattern[self._at : end + 1]}`")

    def _escape(self, text: str, in_class: bool) -> None:
        if text in ("\\p", "\\P"):
            self._unicode_class(in_class)
        elif text == "\\C" and not in_class:  # a single byte in RE2; invalid in Go
            raise GoRegexError("invalid escape sequence: `\\C`")
        elif text == "\\Q" and not in_class:
            end = self._pattern.find("\\E", self._at)
            self._copy(end + 2 if end >= 0 else len(self._pattern))
        else:
            self._copy(self._at + len(text))

    def _class(self) -> None:
        start = _CLASS_START.match(self._pattern, self._at)
        assert start is not None
        self._copy(start.end())
        while self._at < len(self._pattern):
            char = self._pattern[self._at]
            if char == "\\":
                self._escape(self._pattern[self._at : self._at + 2], in_class=True)
            elif self._pattern[self._at - 1] != "-" and (named := _POSIX_CLASS.match(self._pattern, self._at)):
                self._copy(named.end())
            else:
                self._copy(self._at + 1)
                if char == "]":
                    return

    def _unicode_class(self, in_class: bool) -> None:
        braced = self._pattern.startswith("{", self._at + 2)
        end = (self._pattern.find("}", self._at) + 1 or len(self._pattern)) if braced else self._at + 3
        text = self._pattern[self._at : end]
        name = text[3:].removesuffix("}") if braced else text[2:]
        negated = (text[1] == "P") is not name.startswith("^")
        name = _canonical(name.removeprefix("^"))
        if not text.endswith("}" if braced else name) or not name:
            raise GoRegexError(f"invalid character class range: `{text}`")
        written = _SPECIAL[name][negated] if name in _SPECIAL else _plain_class(name, negated)
        if not braced and name not in _SPECIAL and written:
            written = text
        if not written or (in_class and written.startswith("^")):
            raise GoRegexError(f"invalid character class range: `{text}`")
        self._out.append(f"[{written}]" if name in _SPECIAL and not in_class else written)
        self._at = end


def _plain_class(name: str, negated: bool) -> str:
    """A class that RE2 supports, else empty."""
    written = f"\\{'P' if negated else 'p'}{{{_ALIASES.get(name, name)}}}"
    return written if name.isalpha() and not _complaint(written, _SMALL) else ""


def _canonical(name: str) -> str:
    """The canonical name: Go ignores case, spaces, `_` and `-` in names."""
    letters = name.translate({ord(mark): None for mark in "_- "})
    return letters[:1].upper() + letters[1:].lower()


_ALIASES: Final = {
    "Closepunctuation": "Pe",
    "Combiningmark": "M",
    "Connectorpunctuation": "Pc",
    "Control": "Cc",
    "Currencysymbol": "Sc",
    "Dashpunctuation": "Pd",
    "Decimalnumber": "Nd",
    "Enclosingmark": "Me",
    "Finalpunctuation": "Pf",
    "Format": "Cf",
    "Initialpunctuation": "Pi",
    "Letter": "L",
    "Letternumber": "Nl",
    "Lineseparator": "Zl",
    "Lowercaseletter": "Ll",
    "Mark": "M",
    "Mathsymbol": "Sm",
    "Modifierletter": "Lm",
    "Modifiersymbol": "Sk",
    "Nonspacingmark": "Mn",
    "Number": "N",
    "Openpunctuation": "Ps",
    "Otherletter": "Lo",
    "Othernumber": "No",
    "Otherpunctuation": "Po",
    "Othersymbol": "So",
    "Paragraphseparator": "Zp",
    "Privateuse": "Co",
    "Punctuation": "P",
    "Separator": "Z",
    "Spaceseparator": "Zs",
    "Spacingmark": "Mc",
    "Surrogate": "Cs",
    "Symbol": "S",
    "Titlecaseletter": "Lt",
    "Uppercaseletter": "Lu",
    "Cntrl": "Cc",
    "Digit": "Nd",
    "Punct": "P",
}
"""Unicode's long names of categories, in the spelling of `_canonical`."""

_NO_OTHER: Final = "\\pL\\pM\\pN\\pP\\pS\\pZ"
_CASED: Final = "\\p{Lu}\\p{Ll}\\p{Lt}"
_SPECIAL: Final = {
    "Any": ("\\x{0}-\\x{10ffff}", "^\\x{0}-\\x{10ffff}"),
    "Ascii": ("\\x{0}-\\x{7f}", "\\x{80}-\\x{10ffff}"),
    "Lc": (_CASED, "^" + _CASED),
    "Casedletter": (_CASED, "^" + _CASED),
    "C": ("^" + _NO_OTHER, _NO_OTHER),
    "Other": ("^" + _NO_OTHER, _NO_OTHER),
    "Cn": (f"^{_NO_OTHER}\\pC", f"{_NO_OTHER}\\pC"),
    "Unassigned": (f"^{_NO_OTHER}\\pC", f"{_NO_OTHER}\\pC"),
    "Assigned": (f"{_NO_OTHER}\\pC", f"^{_NO_OTHER}\\pC"),
}
"""Classes that RE2 lacks or limits to assigned characters: content of the brackets for the class and for its
complement. One that begins with `^` cannot be combined with others in a class and is rejected there."""
