# SPDX-License-Identifier: Apache-2.0
"""Warnings about valid pods that probably do not do what their author intended.

Used only on creation, for pods and pod templates; kubectl prints them from `Warning:` headers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from springtide.local.kinds import names
from springtide.local.kinds.pod.containers_resources import amount
from springtide.local.kinds.strategy import Obj

_OLD_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_OLD_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_HOST_NAME = (
    "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; "
    "a DNS label is recommended: "
)


def pod_warnings(pod: Obj) -> list[str]:
    meta = pod["metadata"]
    if "resourceVersion" in meta:
        return []  # controllers update pods often, users hardly ever
    sentences = []
    if complaints := names.dns_label(meta.get("name", "")):
        sentences.append(f"{_HOST_NAME}[{' '.join(complaints)}]")
    return sentences + template_warnings(pod, "")


def template_warnings(template: Obj, path: str) -> list[str]:
    """Warnings for a pod (`path` empty) or a pod template (`spec.template`)."""
    root = f"{path}." if path else ""
    spec: Obj = template.get("spec") or {}
    sentences = [
        f"{root}spec.topologySpreadConstraints[{index}].labelSelector: a null labelSelector results in matching no pod"
        for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ())
        if constraint.get("labelSelector") is None
    ]
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    for key, why in _OLD_ANNOTATIONS.items():
        if key in annotations:
            sentences.append(f"{root}metadata.annotations[{key}]: {why}")
    for index, volume in enumerate(spec.get("volumes") or ()):
        for kind, why in _OLD_VOLUMES.items():
            if volume.get(kind) is not None:
                sentences.append(f"{root}spec.volumes[{index}].{kind}: {why}")
    sentences += _doubled(spec.get("hostAliases") or (), "ip", f"{root}spec.hostAliases")
    secrets = spec.get("imagePullSecrets") or ()
    sentences += _doubled(secrets, "name", f"{root}spec.imagePullSecrets")
    for index, secret in enumerate(secrets):
        if not secret.get("name"):
            sentences.append(f'{root}spec.imagePullSecrets[{index}].name: invalid empty name ""')
    for where, container in _containers(spec, f"{root}spec"):
        sentences += _fractions(container, where)
        sentences += _hidden_variables(container.get("env") or (), where)
    sentences += _port_clashes(spec, f"{root}spec")
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        why = "must be >= 0; negative values are invalid and will be treated as 1"
        sentences.append(f"{root}spec.terminationGracePeriodSeconds: {why}")
    return sentences + _matching_nothing(spec.get("affinity") or {}, f"{root}spec.affinity")


def _matching_nothing(affinity: Obj, path: str) -> list[str]:
    sentences: list[str] = []
    for side in ("podAffinity", "podAntiAffinity"):
        for field, inner in (
            ("requiredDuringSchedulingIgnoredDuringExecution", ""),
            ("preferredDuringSchedulingIgnoredDuringExecution", "podAffinityTerm"),
        ):
            for index, entry in enumerate((affinity.get(side) or {}).get(field) or ()):
                term = entry.get(inner) or {} if inner else entry
                if term.get("labelSelector") is None:
                    where = f"{path}.{side}.{field}[{index}]{'.' if inner else ''}{inner}.labelSelector"
                    sentences.append(f"{where}: a null labelSelector results in matching no pod")
    return sentences


def _containers(spec: Obj, path: str) -> Iterator[tuple[str, Obj]]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            yield f"{path}.{kind}[{index}]", container


def _doubled(items: Iterable[Obj], field: str, path: str) -> list[str]:
    sentences: list[str] = []
    seen: set[str] = set()
    for index, item in enumerate(items):
        value = item.get(field, "")
        if value in seen:
            sentences.append(f'{path}[{index}].{field}: duplicate {field} "{value}"')
        seen.add(value)
    return sentences


def _fractions(container: Obj, path: str) -> list[str]:
    resources = container.get("resources") or {}
    sentences: list[str] = []
    for name in ("memory", "ephemeral-storage"):
        for side in ("limits", "requests"):
            quantity = (resources.get(side) or {}).get(name)
            if quantity is not None and amount(quantity).milli % 1000:
                why = f'fractional byte value "{quantity}" is invalid, must be an integer'
                sentences.append(f"{path}.resources.{side}[{name}]: {why}")
    return sentences


def _hidden_variables(variables: Iterable[Obj], path: str) -> list[str]:
    """Repeated definitions of a variable, except those that extend the first one: `PATH=$(PATH):/more`."""
    sentences: list[str] = []
    seen: set[str] = set()
    for index, variable in enumerate(variables):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        extends = variable.get("valueFrom") is None and reference in value and value != reference
        if name in seen and not extends:
            why = f'hides previous definition of "{name}", which may be dropped when using apply'
            sentences.append(f"{path}.env[{index}]: {why}")
        seen.add(name)
    return sentences


def _port_clashes(spec: Obj, path: str) -> list[str]:
    sentences: list[str] = []
    known: dict[tuple[int, str], list[tuple[str, Obj]]] = {}
    for where, container in _containers(spec, path):
        for index, port in enumerate(container.get("ports") or ()):
            here = f"{where}.ports[{index}]"
            others = known.setdefault((port.get("containerPort", 0), port.get("protocol", "")), [])
            for there, other in others:
                if clash := _clash(port, other):
                    sentences.append(f"{here}: {clash} with {there}")
            others.append((here, port))
    return sentences


def _clash(port: Obj, other: Obj) -> str:
    number, elsewhere = port.get("hostPort", 0), other.get("hostPort", 0)
    address, other_address = port.get("hostIP", ""), other.get("hostIP", "")
    if (number, address) == (elsewhere, other_address):
        return "duplicate port definition"
    if not number or not elsewhere:
        return "overlapping port definition"
    if number == elsewhere and bool(address) != bool(other_address):
        return "dangerously ambiguous port definition"
    return ""
