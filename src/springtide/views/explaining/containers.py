# SPDX-License-Identifier: Apache-2.0
"""Containers that a kubelet cannot start: images that cannot be pulled, and missing configuration."""

from __future__ import annotations

import re
from typing import Final

from springtide.messages import text
from springtide.views.explaining import reading
from springtide.views.explaining.evidence import Cause, Evidence, Fact
from springtide.views.explaining.reading import Held

_PULLS: Final = ("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError")
_NOT_PULLED: Final = "images are not pulled here"
"""The kubelet of the embedded cluster says so."""
_BACK_OFF: Final = re.compile(r'Back-off pulling image "[^"]*"(?:: ErrImagePull: )?')
_NAMELESS: Final = "InvalidImageName"
_QUIET: Final = ("ContainerCreating", "PodInitializing", "CrashLoopBackOff")


def image(evidence: Evidence) -> Cause | None:
    for held in reading.waiting(evidence):
        called = str(reading.container(held.pod, held.container).get("image") or "")
        look = f"kubectl describe pod {reading.name(held.pod)} -n {evidence.namespace}"
        if held.reason == _NAMELESS:
            why = text("{image} is no valid name of an image", image=called)
            return Cause("InvalidImageName", why, (held.fact,), look)
        if held.reason not in _PULLS:
            continue
        said, facts = _pull_error(evidence, held)
        if _NOT_PULLED in said:
            why = text("no environment of this cluster fits image {image} of {pod}", image=called, pod=_name(held))
            return Cause("NoEnvironment", why, facts, reading.command_in(said) or "tide env list")
        shown = reading.clause(said) or held.reason
        why = text("image {image} of {pod} cannot be pulled: {said}", image=called, pod=_name(held), said=shown)
        return Cause("Image", why, facts, look)
    return None


def configuration(evidence: Evidence) -> Cause | None:
    """Whatever else keeps a container from being created, such as a missing ConfigMap or Secret."""
    for held in reading.waiting(evidence):
        if held.reason in _QUIET or held.reason in _PULLS:
            continue
        said = reading.clause(held.message) or held.reason
        why = text(
            "container {container} of {pod} cannot start: {said}",
            container=held.container,
            pod=_name(held),
            said=said,
        )
        command = f"kubectl describe pod {_name(held)} -n {evidence.namespace}"
        return Cause(held.reason, why, (held.fact,), command)
    return None


def _pull_error(evidence: Evidence, held: Held) -> tuple[str, tuple[Fact, ...]]:
    """The error itself. During back-off kubelets wrap it, or leave it out; an event has it."""
    bare = _BACK_OFF.sub("", held.message, count=1).strip()
    if bare:
        return " ".join(bare.split()), (held.fact,)
    for event in reading.warnings(evidence, _name(held), "Failed"):
        said = str(event.get("message") or "")
        if "pull" in said:
            return " ".join(said.split()), (held.fact, reading.of_event(event))
    return "", (held.fact,)


def _name(held: Held) -> str:
    return reading.name(held.pod)
