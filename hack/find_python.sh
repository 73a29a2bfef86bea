#!/bin/sh
# Prints the path of a Python interpreter for an environment of this checkout.
#
#   hack/find_python.sh [REQUEST]     REQUEST: 3.13, 3.13.2, python3.13, a path, or nothing (3.11 or newer)
#   hack/find_python.sh --is REQUEST PYTHON
#                                     exits with 0 if PYTHON, possibly of a virtual environment, is what REQUEST names
#
# A shell script, because there is no Python before it has found one. uv is not asked: it stops at the first of pyenv's
# shims that leads nowhere, and does not look into pyenv's folders.
set -u

# The first is preferred where nothing is asked for and `python3` does not fit. CI tests the oldest and the newest.
SUPPORTED="3.14 3.13 3.12 3.11"

# "3.13.2 /path/of/the/interpreter", or nothing if it does not start. Of a virtual environment, what it was made from.
probe() {
  "$1" -I -c 'import os, sys; v = sys.version_info
print("%d.%d.%d%s %s" % (*v[:3], "" if v[3] == "final" else v[3], os.path.realpath(getattr(sys, "_base_executable", sys.executable))))' 2>/dev/null </dev/null
}

# All there may be, the preferred first; neither unique nor sure to start.
candidates() {
  command -v python3
  for version in $SUPPORTED; do command -v "python$version"; done
  command -v python
  for place in "${PYENV_ROOT:-${HOME:-}/.pyenv}/versions" "${UV_PYTHON_INSTALL_DIR:-${XDG_DATA_HOME:-${HOME:-}/.local/share}/uv/python}" \
      "${XDG_CACHE_HOME:-${HOME:-}/.cache}/springtide/python"; do
    for version in $SUPPORTED; do ls -d "$place"/*/bin/"python$version" 2>/dev/null; done
  done
}

# fits REQUEST VERSION: whether a version such as 3.13.2 is one that a request such as 3.13 or nothing asks for
fits() {
  case "$2" in 3.[0-9].*|3.10.*|[!3]*) return 1;; esac
  case "$1" in
    "") case "$2" in *[a-z]*) return 1;; esac;;
    *) case "$2." in "$1".*) ;; *) return 1;; esac;;
  esac
}

# A number, from what uv takes as well: 3.13, python3.13, cpython@3.13
number() { printf '%s\n' "$1" | sed -nE 's/^(c?python)?[@-]?(3(\.[0-9]+){0,2})$/\2/p'; }

found() {
  candidates | while read -r candidate; do probe "$candidate"; done | sort -u -k2,2 | sort -t. -k1,1n -k2,2nr
}

fail() {
  {
    echo "Error: $1"
    echo "Springtide needs Python 3.11 or newer. On this machine there are:"
    found | while read -r version path; do
      if fits "" "$version"; then echo "  $version  $path"; else echo "  $version  $path (too old or not a release)"; fi
    done
    echo "$2"
  } >&2
  exit 1
}

elsewhere="Choose one of them with UV_PYTHON=VERSION or UV_PYTHON=/path/of/python, or install another one:
your system's packages, pyenv, or: uv python install 3.13"

if [ "${1:-}" = --is ]; then
  request=$2 has=$(probe "$3") || exit 1
  version=$(number "$request")
  if [ -n "$version" ]; then fits "$version" "${has%% *}"; exit; fi
  asked=$("$0" "$request" 2>/dev/null) && [ "$asked" = "${has#* }" ]
  exit
fi

request=${1:-}
version=$(number "$request")
if [ -n "$request" ] && [ -z "$version" ]; then
  path=$request
  for inside in bin/python3 bin/python; do if [ -d "$request" ] && [ -x "$request/$inside" ]; then path=$request/$inside; break; fi; done
  path=$(command -v "$path") || fail "UV_PYTHON=$request is not a version, a program or a path." "$elsewhere"
  has=$(probe "$path") || fail "$path is not a Python that starts." "$elsewhere"
  fits 3 "${has%% *}" || fail "$path is Python ${has%% *}." "$elsewhere"
  echo "${has#* }"
  exit
fi
case "$version" in 3.[0-9]|3.[0-9].*|3.10|3.10.*) fail "UV_PYTHON=$request is too old." "$elsewhere";; esac
candidates | while read -r candidate; do
  if has=$(probe "$candidate") && fits "$version" "${has%% *}"; then echo "${has#* }"; break; fi
done | grep . || fail "${version:+UV_PYTHON=$request: }no Python ${version:-3.11 or newer} was found." "$elsewhere"
