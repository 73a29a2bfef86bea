# SPDX-License-Identifier: Apache-2.0
"""`arena completion`: prints the script with which a shell completes arena by TAB. Arena knows bash and zsh only."""

from __future__ import annotations

from typing import Final

from springtide.cli.arena.command_tree import Verb
from springtide.cli.arena.errors import Listed
from springtide.cli.arena.session import Session
from springtide.cli.flags.pflag import Parsed

_BASH: Final = """\
_arena() {
    local line="${COMP_LINE:0:COMP_POINT}" words=() last
    IFS=' ' read -ra words <<< "$line"
    [[ $line == *' ' ]] && words+=('')
    last="${words[${#words[@]}-1]}"
    local IFS=$'\\n'
    COMPREPLY=($(arena __complete "${words[@]:1}" 2>/dev/null | cut -f1))
    [[ $last == --*=* ]] && COMPREPLY=("${COMPREPLY[@]#*=}")
    return 0
}
complete -F _arena arena
"""
_ZSH: Final = """\
#compdef arena
_arena() {
    local -a lines values shown
    local line
    lines=("${(@f)$(arena __complete "${(@)words[2,$CURRENT]}" 2>/dev/null)}")
    for line in $lines; do
        values+=("${line%%$'\\t'*}")
        shown+=("${line/$'\\t'/ -- }")
    done
    if (( ${#values} )); then compadd -l -d shown -a values; else _files; fi
}
if [ "$funcstack[1]" = "_arena" ]; then _arena "$@"; else compdef _arena arena; fi
"""
_FISH: Final = """\
function __arena_complete
    set -l words (commandline -opc) (commandline -ct)
    arena __complete $words[2..-1] 2>/dev/null
end
complete -c arena -f -a '(__arena_complete)'
"""
SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def completion(session: Session, line: Parsed) -> None:
    if line.arguments[0] not in SCRIPTS:
        raise Listed(f"Invalid shell '{line.arguments[0]}'. The supported shells are bash, zsh and fish.")
    print(SCRIPTS[line.arguments[0]], end="")


COMPLETION: Final = Verb((), completion, "not found the shell: bash, zsh or fish")
