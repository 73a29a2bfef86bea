#!/bin/sh
# Makes a virtual environment of this checkout, or brings it up to date.
#
#   hack/make_environment.sh UV FOLDER GROUP...
#
# Springtide is installed editable, with the dependency groups, in the versions of constraints.txt. UV_PYTHON (or PYTHON)
# chooses the interpreter; an environment of another one is made anew. uv gets pip's index and certificates.
set -eu
uv=$1 folder=$2
shift 2
request=${UV_PYTHON:-${PYTHON:-}}
here=$(dirname "$0")

if ! { [ -x "$folder/bin/python" ] && "$folder/bin/python" -c '' 2>/dev/null; }; then
  python=$("$here/find_python.sh" "$request")
elif [ -n "$request" ] && ! "$here/find_python.sh" --is "$request" "$folder/bin/python"; then
  python=$("$here/find_python.sh" "$request")
  echo "$folder is made anew for $python."
else
  python=
fi

eval "$("${python:-$folder/bin/python}" -I "$here/../src/springtide/local/environments/pip_settings.py")"
# It would be preferred to $folder, and packages installed into that interpreter.
unset UV_PYTHON
[ -z "$python" ] || "$uv" venv --quiet --clear --no-python-downloads --python "$python" "$folder"
for group; do set -- "$@" --group "$group"; shift; done
exec "$uv" pip install --quiet --python "$folder/bin/python" --constraint constraints.txt --editable . "$@"
