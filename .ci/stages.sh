# The stages of a run, and what is told of them at its end. To be sourced by a script that stops at the first error.
#
#   stage NAME COMMAND...   runs it
#   begin NAME COMMAND...   begins it beside what comes next; what it prints is kept
#   join NAME               waits for it and prints that
#
# On leaving, whichever way, stages that were begun and not joined are interrupted; a table says what took how long and
# how busy the machine was meanwhile, which shows where it only waited, and the tests that needed a second chance are
# counted and named. Too many of them fail a run that would have passed.

MOST_SECOND_CHANCES=5
KEPT=$(mktemp -d)
export SECOND_CHANCES=$KEPT/second-chances
declare -A RUNNING=() # process group by stage
TABLE=()

stage() {
  local name=$1 from=$SECONDS code=0 before
  shift
  printf '\n=== %s\n' "$name"
  before=$(ticks)
  "$@" || code=$?
  told "$name" "$((SECONDS - from))" "$code" "$(busy "$before") % busy"
}

begin() {
  local name=$1
  shift
  printf '\n=== %s: begun beside the next\n' "$name"
  set -m # it gets a process group, to be interrupted as a whole
  (
    code=0
    SECONDS=0
    "$@" || code=$?
    echo "$SECONDS" >"$(kept "$name").seconds"
    exit "$code"
  ) >"$(kept "$name").log" 2>&1 </dev/null &
  set +m
  RUNNING[$name]=$!
}

join() {
  local name=$1 from=$SECONDS code=0
  wait "${RUNNING[$name]}" 2>/dev/null || code=$?
  unset "RUNNING[$name]"
  printf '\n=== %s, begun before\n' "$name"
  cat "$(kept "$name").log"
  told "$name" "$(cat "$(kept "$name").seconds" 2>/dev/null || echo -)" "$code" "beside others, waited for $((SECONDS - from)) s"
}

# Of all cores since they were counted first: how many ticks they worked, and how many there were.
ticks() { awk '/^cpu / { all = $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9; print all - $5 - $6, all }' /proc/stat; }

# Per cent of what there was since.
busy() { echo "$1 $(ticks)" | awk '{ print ($4 > $2) ? int(100 * ($3 - $1) / ($4 - $2)) : 0 }'; }

kept() { echo "$KEPT/${1//[^a-z0-9]/-}"; }

told() {
  local name=$1 seconds=$2 code=$3 how=${4:-}
  if [ "$code" -ne 0 ]; then how="failed with $code${how:+, $how}"; fi
  printf '=== %s: %s s%s\n' "$name" "$seconds" "${how:+ ($how)}"
  TABLE+=("$(printf '%6s s  %s%s' "$seconds" "$name" "${how:+ ($how)}")")
  return "$code"
}

interrupt() {
  local tries
  kill -INT -- "-$1" 2>/dev/null || return 0
  for ((tries = 0; tries < 20; tries++)); do
    kill -0 -- "-$1" 2>/dev/null || return 0
    sleep 1
  done
  kill -KILL -- "-$1" 2>/dev/null || true
}

tell() {
  local code=$? name chances=0
  trap - EXIT
  for name in "${!RUNNING[@]}"; do
    interrupt "${RUNNING[$name]}"
    join "$name" || true
  done
  printf '\n=== what took how long\n'
  printf '%s\n' "${TABLE[@]}" "$(printf '%6s s  all' "$SECONDS")"
  if [ -s "$SECOND_CHANCES" ]; then chances=$(wc -l <"$SECOND_CHANCES"); fi
  if [ "$code" -eq 0 ] && [ "$chances" -gt "$MOST_SECOND_CHANCES" ]; then code=1; fi
  printf '\n=== tests that needed a second chance: %s (more than %s fail the run)\n' "$chances" "$MOST_SECOND_CHANCES"
  if [ "$chances" -gt 0 ]; then cat "$SECOND_CHANCES"; fi
  rm -rf "$KEPT"
  exit "$code"
}
trap tell EXIT
