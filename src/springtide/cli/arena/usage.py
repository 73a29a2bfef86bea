# SPDX-License-Identifier: Apache-2.0
"""The help of a command, laid out as the library cobra does it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from springtide.cli.arena.command_tree import GLOBAL_FLAGS, Branch
from springtide.cli.flags import durations
from springtide.cli.flags.pflag import Flag, Kind, quoted


def shown(path: Sequence[Branch], flags: Sequence[Flag]) -> str:
    """`path` leads from the root to the command."""
    branch, root = path[-1], len(path) == 1
    name = " ".join(each.name for each in path)
    own = (*flags, Flag("help", Kind.BOOL, f"help for {branch.name}", short="h"))
    blocks = [branch.help, "\n".join(["Usage:", *_usage_lines(name, branch)])]
    if branch.aliases:
        blocks.append(f"Aliases:\n  {', '.join((branch.name, *branch.aliases))}")
    if branch.commands:
        width = max(11, *(len(each.name) for each in branch.commands))
        lines = [f"  {each.name:<{width}} {each.help}" for each in branch.commands]
        blocks.append("\n".join(["Available Commands:", *lines]))
    blocks.append("\n".join(["Flags:", *flag_lines((*GLOBAL_FLAGS, *own) if root else own)]))
    if not root:
        blocks.append("\n".join(["Global Flags:", *flag_lines(GLOBAL_FLAGS)]))
    if branch.commands:
        blocks.append(f'Use "{name} [command] --help" for more information about a command.')
    return "\n\n".join(blocks) + "\n"


def _usage_lines(name: str, branch: Branch) -> Iterator[str]:
    arguments = f" {branch.arguments}" if branch.arguments else ""
    yield f"  {name}{arguments} [flags]"
    if branch.commands:
        yield f"  {name} [command]"


def flag_lines(flags: Sequence[Flag]) -> list[str]:
    starts = {flag.name: _start(flag) for flag in sorted(flags, key=lambda flag: flag.name)}
    width = max(len(start) for start in starts.values()) + 3
    by_name = {flag.name: flag for flag in flags}
    return [f"{start:<{width}}{by_name[name].help}{_default(by_name[name])}".rstrip() for name, start in starts.items()]


def _start(flag: Flag) -> str:
    short = f"-{flag.short}, " if flag.short else "    "
    kind = f" {flag.kind.value}" if flag.kind.value else ""
    return f"  {short}--{flag.name}{kind}"


def _default(flag: Flag) -> str:
    if not flag.default:
        return ""
    if flag.kind is Kind.STRING:
        return f" (default {quoted(flag.default)})"
    return f" (default {durations.shown(flag.default) if flag.kind is Kind.DURATION else flag.default})"
