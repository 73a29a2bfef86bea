# SPDX-License-Identifier: Apache-2.0
"""Resolving a request for a log: the attempt and options it asks for, or why there is no such log.

Pure. The error messages are kubelet's, word for word; users search for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from springtide.local.kubelet.serving.hosting import HostedPod
from springtide.local.kubelet.serving.paths import Asked
from springtide.local.kubelet.specs import pod_specs
from springtide.local.pod_logs.reading import Options

_STREAMS: Final = {"": "", "All": "", "Stdout": "stdout", "Stderr": "stderr"}
_LISTS: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


class Refused(Exception):
    """The request is rejected; `code` is HTTP's."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def options_of(asked: Asked, now: datetime) -> Options:
    try:
        since = _since(asked, now)
        tail, limit = _number(asked.first("tailLines")), _number(asked.first("limitBytes"))
    except (ValueError, OverflowError):
        raise Refused(400, '{"message": "Unable to decode query."}') from None
    if (tail is not None and tail < 0) or (limit is not None and limit < 1):
        raise Refused(422, '{"message": "Invalid request."}')
    stream = asked.first("stream")
    if stream not in _STREAMS:
        raise Refused(400, f'invalid stream type "{stream}"')
    return Options(asked.flag("follow"), tail, limit, since, asked.flag("timestamps"), _STREAMS[stream])


def _number(text: str) -> int | None:
    return int(text) if text else None


def _since(asked: Asked, now: datetime) -> str:
    if seconds := asked.first("sinceSeconds"):
        moment = now - timedelta(seconds=int(seconds))
    elif text := asked.first("sinceTime"):
        moment = datetime.fromisoformat(text).astimezone(UTC)
    else:
        return ""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f000Z")


def attempt_of(pod: HostedPod, container: str, previous: bool) -> int:
    """The attempt whose log is requested."""
    name, state = pod.obj["metadata"]["name"], pod.states.get(container)
    if pod_specs.container_of(pod.obj, container) is None:
        raise Refused(404, f'container "{container}" not found in pod "{name}"')
    reported = _reported(pod.status, container)
    if not previous:
        if state is None:
            raise Refused(400, _not_started(f'container "{container}" in pod "{name}"', reported))
        return state.attempt
    # Between two attempts the one that ended is both the newest and the previous one.
    between = state is not None and state.status == "exited" and "waiting" in reported.get("state", {})
    attempt = -1 if state is None else state.attempt if between else state.attempt - 1
    if attempt < 0:
        raise Refused(400, f'previous terminated container "{container}" in pod "{name}" not found')
    return attempt


def _not_started(subject: str, reported: Mapping[str, Any]) -> str:
    if not reported:
        return f"{subject} is not available"
    reason = (reported.get("state", {}).get("waiting") or {}).get("reason", "")
    return f"{subject} is waiting to start: {reason}" if reason else f"{subject} is waiting to start - no logs yet"


def _reported(status: Mapping[str, Any], container: str) -> Mapping[str, Any]:
    found: Mapping[str, Any]
    for found in (entry for field in _LISTS for entry in status.get(field) or ()):
        if found["name"] == container:
            return found
    return {}
