# SPDX-License-Identifier: Apache-2.0
"""The user of a container's program: from the securityContext if the agent is root, the agent's user otherwise.
Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

IGNORED = ("runAsUser", "runAsGroup", "fsGroup", "supplementalGroups")
"""Fields that only root can apply."""


class NotAllowed(ValueError):
    """The pod forbids root but would run as root; the message is kubelet's."""


class User(NamedTuple):
    uid: int | None = None
    """None: the agent's own user."""
    gid: int | None = None
    groups: tuple[int, ...] = ()


def of_container(pod: Mapping[str, Any], container: Mapping[str, Any]) -> User:
    """The user, for an agent that is root. A container's own securityContext overrides the pod's."""
    whole = pod["spec"].get("securityContext") or {}
    context = whole | {k: v for k, v in (container.get("securityContext") or {}).items() if v is not None}
    uid = context.get("runAsUser")
    if context.get("runAsNonRoot") and not uid:
        metadata = pod["metadata"]
        which = (
            f'(pod: "{metadata["name"]}_{metadata["namespace"]}({metadata["uid"]})", container: {container["name"]})'
        )
        if uid == 0:
            raise NotAllowed(f"container's runAsUser breaks non-root policy {which}")
        raise NotAllowed(f"container has runAsNonRoot and image will run as root {which}")
    own_group = [whole["fsGroup"]] if whole.get("fsGroup") is not None else []
    groups = (*own_group, *(whole.get("supplementalGroups") or ()))
    return User(uid, context.get("runAsGroup"), tuple(dict.fromkeys(groups)))


def ignored(pod: Mapping[str, Any], uid: int) -> str:
    """Which fields of a pod's securityContext an agent that is not root ignores, in one sentence; empty if none."""
    spec = pod["spec"]
    containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    contexts = [spec.get("securityContext") or {}, *(each.get("securityContext") or {} for each in containers)]
    wanted = [name for name in IGNORED if any(context.get(name) not in (None, [], uid) for context in contexts)]
    if not wanted:
        return ""
    what = f"{', '.join(wanted)} {'is' if len(wanted) == 1 else 'are'} ignored"
    return f"securityContext: {what}, everything runs as uid {uid}; a cluster that root started with tide up can do it"
