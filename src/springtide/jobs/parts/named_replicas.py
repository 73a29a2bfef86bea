# SPDX-License-Identifier: Apache-2.0
"""What Kubeflow's kinds without a launcher share: replicas that keep their names, each with a Service of that name.

    JOB-worker-0      the pod, its host name and its Service

Names, labels and ports are upstream's, of today and of the operators before: users' tools select by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from springtide.api.job import Job
from springtide.jobs.actions import Event
from springtide.jobs.kind import Hosts, Replica, Wanted
from springtide.jobs.objects import CONTAINER, place
from springtide.jobs.observed import Settings
from springtide.jobs.parts import pod_templates, services
from springtide.jobs.policies import whole_job_restart

Raw = dict[str, Any]

_PREFIX: Final = "training.kubeflow.org"
LONGEST_VARIABLE: Final = 128 * 1024 - 1
"""Linux' MAX_ARG_STRLEN, without the zero byte at the end."""
_TCP: Final = "TCP"
_DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"


@dataclass(frozen=True, slots=True)
class Naming:
    """The names that a kind's objects have."""

    operator: str
    """The value of the label `operator-name`."""
    container: str
    """The container that trains."""
    port_name: str
    port: int
    """The port that replicas meet at, unless a template has another one of this name."""


def name(job: Job[Any], role: str, index: int) -> str:
    return f"{job.metadata.name}-{role.lower()}-{index}"


def config_name(job: Job[Any]) -> str:
    """Of the ConfigMap with the ledger. Other names are Arena's, or those of an MPIJob of the same name."""
    return f"{job.metadata.name}-{job.kind.lower()}-ledger"


def selector(naming: Naming, job: Job[Any], role: str, index: int | None = None) -> dict[str, str]:
    """The labels that select the pods of a role, or one of them."""
    labels = {
        f"{_PREFIX}/job-name": job.metadata.name,
        f"{_PREFIX}/operator-name": naming.operator,
        f"{_PREFIX}/replica-type": role.lower(),
    }
    return labels if index is None else {**labels, f"{_PREFIX}/replica-index": str(index)}


def labels(naming: Naming, job: Job[Any], role: str, index: int, leads: bool) -> dict[str, str]:
    """All labels of a pod. `leads` marks the replica whose log users look at first."""
    older = {
        "group-name": "kubeflow.org",
        "job-name": job.metadata.name,
        "replica-type": role.lower(),
        "replica-index": str(index),
    }
    master = {f"{_PREFIX}/job-role": "master", "job-role": "master"} if leads else {}
    return {**older, **selector(naming, job, role, index), **master, **place(job, role, index)}


def port(naming: Naming, job: Job[Any], role: str) -> int:
    """The port that the replicas of a role meet at."""
    return next((each["containerPort"] for each in _ports(naming, job, role) if each["name"] == naming.port_name), 0)


def _ports(naming: Naming, job: Job[Any], role: str) -> list[Raw]:
    """The named ports of the container that trains."""
    spec = job.roles[role].template["spec"]
    given = spec["containers"][pod_templates.position(spec, naming.container)].get("ports") or ()
    named = [each for each in given if each.get("name")]
    known = any(each["name"] == naming.port_name for each in named)
    return named if known else [*named, {"name": naming.port_name, "containerPort": naming.port}]


def _served(naming: Naming, job: Job[Any], role: str) -> list[Raw]:
    """The ports of a replica's Service. A container may give one number two names, a Service may not: there the port
    that replicas meet at keeps its name."""
    ports = _ports(naming, job, role)
    names: dict[tuple[int, str], str] = {}
    for each in sorted(ports, key=lambda port: port["name"] != naming.port_name):
        names.setdefault(_number(each), each["name"])
    kept = [each for each in ports if names[_number(each)] == each["name"]]
    return [
        {"name": each["name"], "port": each["containerPort"]}
        | ({"protocol": each["protocol"]} if each.get("protocol", _TCP) != _TCP else {})
        for each in kept
    ]


def _number(port_: Raw) -> tuple[int, str]:
    return port_["containerPort"], port_.get("protocol") or _TCP


def address(job: Job[Any], role: str, index: int, port_: int, domain: str) -> str:
    """Of a replica, for the pods of all namespaces."""
    host = f"{name(job, role, index)}.{job.metadata.namespace}.svc" + (f".{domain}" if domain else "")
    return f"{host}:{port_}"


def service(naming: Naming, job: Job[Any], replica: Replica, early: bool = True) -> Wanted:
    chosen = selector(naming, job, replica.role, replica.index)
    labels_ = {**chosen, **place(job, replica.role)}
    return services.headless(job, replica.name, chosen, labels_, _served(naming, job, replica.role), early)


def every(hosts: Hosts, job: Job[Any]) -> Iterable[Replica]:
    """The replicas that need a Service: those of the job, and those about to leave it."""
    return (each for each in (*hosts.fixed, *hosts.leaving) if each.role in job.roles)


def spec_of(naming: Naming, job: Job[Any], role: str) -> Raw:
    """The pod's spec from the user's template, with the port that replicas meet at."""
    spec = pod_templates.spec_of(job.roles[role], naming.container)
    at = pod_templates.position(spec, naming.container)
    main = spec["containers"][at]
    if not any(each.get("name") == naming.port_name for each in main.get("ports") or ()):
        opened = {"name": naming.port_name, "containerPort": naming.port, "protocol": "TCP"}
        spec["containers"][at] = {**main, "ports": [*(main.get("ports") or ()), opened]}
    policy = job.roles[role].restart_policy
    spec["restartPolicy"] = "Never" if whole_job_restart.asked(job) else pod_templates.restart_policy(policy)
    return spec


def add_variables(spec: Raw, values: Mapping[str, str], container: str = "") -> None:
    """Appended to the variables of this container, or of all: of two with one name the later one counts."""
    for at, each in enumerate(spec["containers"]):
        if not container or at == pod_templates.position(spec, container):
            env = [*(each.get("env") or ()), *pod_templates.variables(values)]
            spec["containers"][at] = {**each, "env": env}


def too_long(values: Mapping[str, str], remedy: str) -> str:
    """Message about the first variable that no program can be started with; empty if there is none."""
    sizes = {name: len(f"{name}={value}".encode()) for name, value in values.items()}
    name_, size = next(((name, size) for name, size in sizes.items() if size > LONGEST_VARIABLE), ("", 0))
    if not name_:
        return ""
    least = f"{name_} has {size} bytes, and Linux passes at most {LONGEST_VARIABLE} in one variable to a program"
    return f"{least}: the job is not started; {remedy}"


def pod(naming: Naming, job: Job[Any], replica: Replica, leads: bool, spec: Raw, settings: Settings) -> Raw:
    found = labels(naming, job, replica.role, replica.index, leads)
    made = pod_templates.pod(job, job.roles[replica.role], replica.name, found, spec, settings)
    if pod_templates.position(spec, naming.container):
        chosen = {_DEFAULT_CONTAINER: naming.container, **made["metadata"]["annotations"], CONTAINER: naming.container}
        made["metadata"]["annotations"] = chosen
    return made


def warnings(job: Job[Any]) -> tuple[Event, ...]:
    """Upstream's warning about a restart policy in a pod template."""
    given = (role.template.get("spec", {}).get("restartPolicy") for role in job.roles.values())
    if not any(given):
        return ()
    message = "Restart policy in pod template will be overwritten by restart policy in replica spec"
    return (Event("Warning", "SetPodTemplateRestartPolicy", message),)
