# SPDX-License-Identifier: Apache-2.0
"""The judge: what is seen after the kills, held against what was seen before and what must become of each pod. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tests.crash_pods.logs import STREAMS, Account
from tests.crash_pods.looking import Life, Traces
from tests.crash_pods.programs import Wanted

from springtide.api.mirror_pods import is_mirror
from springtide.kube.resources import Obj

KILLED = 137
TERMINAL = ("Succeeded", "Failed")


# What to wait for


def lacking(wanted: Wanted, pod: Obj | None, killed_at: int | None = None) -> str:
    """What a pod still lacks to be as it must be in the end; `killed_at`: its restarts when its shim was killed."""
    if pod is None:
        return f"{wanted.name} is not there"
    phase = (pod.get("status") or {}).get("phase", "Pending")
    ends = wanted.exit_code is not None or (killed_at is not None and wanted.policy == "Never")
    if ends:
        return "" if phase in TERMINAL else f"{wanted.name} is still {phase}"
    least = killed_at + 1 if killed_at is not None else wanted.restarts
    count = len(pod["spec"]["containers"])
    told = pod["status"].get("containerStatuses") or ()
    well = [one for one in told if one.get("ready") and one["restartCount"] >= least and one["state"].get("running")]
    return (
        "" if phase == "Running" and len(well) == count else f"{wanted.name} does not run ({phase}): {_in_short(told)}"
    )


def _in_short(told: Sequence[Obj]) -> str:
    return "; ".join(f"{one['name']} {one['restartCount']} {one.get('state')}" for one in told)


# Pods


def judge_untouched(before: Life, after: Life | None) -> list[str]:
    """Server, agents, netd or supervisor were killed: a pod's programs must not have noticed."""
    if after is None or after.uid != before.uid:
        return [f"{before.name} is gone"]
    faults = []
    if after.process is None or after.process != before.process:
        faults.append(f"ran as {before.process}, now as {after.process}")
    if after.restarts != before.restarts:
        faults.append(f"restartCount {before.restarts} became {after.restarts}")
    if after.started != before.started:
        faults.append(f"startedAt {before.started} became {after.started!r}")
    if (after.last_exit, after.last_reason) != (before.last_exit, before.last_reason):
        faults.append(f"its last end was {before.last_exit} ({before.last_reason}), now {after.last_exit}")
    return [f"{before.name}: {fault}" for fault in faults]


def judge_progress(before: Life, after: Life | None) -> list[str]:
    """Of programs that number their lines and run on: nothing missing, and more than before."""
    if after is None:
        return []  # said already
    faults = list(after.log.faults)
    faults += [
        f"{stream} came to {before.log.highest.get(stream)} before and to {after.log.highest.get(stream)} now"
        for stream in STREAMS
        if after.log.highest.get(stream, 0) <= before.log.highest.get(stream, 0)
    ]
    return [f"log of {before.name}: {fault}" for fault in faults]


def judge_killed(policy: str, before: Life, after: Life | None, written: Account) -> list[str]:
    """The shim of a pod that runs for ever was killed. `written` is what its log had when the shim was dead."""
    if after is None or after.uid != before.uid:
        return [f"{before.name} is gone"]
    if policy == "Never":
        told, wanted = (after.exit_code, after.reason, after.restarts), (KILLED, "Error", before.restarts)
    else:
        told, wanted = (after.last_exit, after.last_reason, after.restarts), (KILLED, "Error", before.restarts + 1)
    faults = [] if told == wanted else [f"exit code, reason and restarts are {told}, not {wanted}"]
    if policy != "Never" and (after.process is None or after.process == before.process):
        faults.append(f"ran as {before.process}, now as {after.process}")
    kept = after.logs[before.restarts] if len(after.logs) > before.restarts else Account()
    if kept.highest != written.highest:
        faults.append(f"its log had {written.highest}, now {kept.highest}")
    faults += [f"log {number}: {fault}" for number, log in enumerate(after.logs) for fault in log.faults]
    if kept.torn:
        faults.append("its log still ends with half a record")
    return [f"{before.name}, whose shim was killed: {fault}" for fault in faults]


def judge_ended(wanted: Wanted, after: Life, killed: bool) -> list[str]:
    """A pod that ends by itself, perhaps with its shim killed before that."""
    told = (after.exit_code, after.restarts)
    allowed = [(wanted.exit_code, wanted.restarts)]
    if killed:
        lost = (KILLED, 0) if wanted.policy == "Never" else (wanted.exit_code, wanted.restarts + 1)
        allowed.append(lost)
    faults = [] if told in allowed else [f"exit code and restarts are {told}, not {' or '.join(map(str, allowed))}"]
    faults += [f"log {number} ends with half a record" for number, log in enumerate(after.logs) if log.torn]
    if wanted.counts:
        faults += [f"log {number}: {fault}" for number, log in enumerate(after.logs) for fault in log.faults]
        whole = [log for log in after.logs if log.ended == frozenset(STREAMS)]
        broken = len(after.logs) - len(whole) - (wanted.exit_code is None)
        if broken > killed:
            faults.append(f"{broken} of {len(after.logs)} logs have no end")
    return [f"{after.name}: {fault}" for fault in faults]


def is_part(given: str, file: str, whole: bool) -> bool:
    """Whether what the API gave is a log file's text, or one of its lines; a program may have written more since, and
    may be in the middle of a write: what has no line break yet is no record."""
    records = [line.split(" ", 3) for line in file[: file.rfind("\n") + 1].splitlines()]
    lines = [f"{moment} {text}" for moment, _, _, text in records]
    shown = given.splitlines()
    if whole:
        return shown == lines[: len(shown)]
    return all(line in lines for line in shown)


# The machine


def judge_traces(pods: Iterable[Obj], traces: Traces) -> list[str]:
    """Everything on this machine belongs to a pod that is there, and each pod that runs has what it needs."""
    known = {pod["metadata"]["uid"]: pod for pod in pods if not is_mirror(pod)}
    running = {uid for uid, pod in known.items() if pod["status"]["phase"] not in TERMINAL}
    names = {f"{pod['metadata']['namespace']}_{pod['metadata']['name']}_{uid}" for uid, pod in known.items()}
    cables = {_cable(pod["status"]["podIP"]) for uid, pod in known.items() if uid in running}
    faults = [f"mounted in the supervisor's namespace: {line}" for line in traces.mounts]
    for what, found, wanted, required in (
        ("pod directory", traces.directories, set(known), running),
        ("log directory", traces.log_directories, names, set()),
        ("exec socket", traces.sockets, running, running),
        ("shim", traces.shims, running, running),
        ("cable", traces.cables, cables, cables),
    ):
        faults += [f"{what} {name} belongs to nobody" for name in sorted(found - wanted)]
        faults += [f"{what} of {_name(known, name)} is missing" for name in sorted(required - found)]
    return faults


def _name(known: Mapping[str, Obj], name: str) -> str:
    return str(known[name]["metadata"]["name"]) if name in known else name


def _cable(address: str) -> str:
    return "pod" + address.split(".", 2)[2]
