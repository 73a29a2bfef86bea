# SPDX-License-Identifier: Apache-2.0
"""Defaults that all of Kubeflow's kinds share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from springtide.api.job import Retries, Role, Run
from springtide.api.kinds import run_policy
from springtide.api.kinds.replicas import ReplicaSpec, RestartPolicy, by_role
from springtide.api.kinds.run_policy import CleanPodPolicy, RunLimits, RunPolicy

DEFAULT_BACKOFF_LIMIT = 6


def role(name: str, spec: ReplicaSpec, *, replicas: int, restart: RestartPolicy) -> Role:
    """`replicas` and `restart` are the kind's defaults."""
    return Role(
        name=name,
        replicas=replicas if spec.replicas is None else spec.replicas,
        restart_policy=RestartPolicy(spec.restart_policy or restart),
        template=spec.template,
    )


def roles(specs: Mapping[str, ReplicaSpec], names: Sequence[str], restart: RestartPolicy) -> dict[str, Role]:
    """Of a kind whose roles may be spelled in any case."""
    return {name: role(name, spec, replicas=1, restart=restart) for name, spec in by_role(specs, names).items()}


def retries(backoff_limit: int | None, restart: RestartPolicy) -> Retries:
    """For a run that the engine itself restarts: with restart policy Never there is one attempt."""
    if backoff_limit is not None:
        return Retries(backoff_limit)
    return Retries(DEFAULT_BACKOFF_LIMIT if restart in (RestartPolicy.ON_FAILURE, RestartPolicy.ALWAYS) else 0)


def run(policy: RunPolicy, clean: CleanPodPolicy, again: Retries) -> Run:
    return Run(
        clean_pod_policy=clean,
        retries=again,
        suspend=bool(policy.suspend),
        ttl_seconds_after_finished=policy.ttl_seconds_after_finished,
        active_deadline_seconds=policy.active_deadline_seconds,
        scheduling=policy.scheduling_policy,
    )


def run_of(beside: RunLimits, policy: RunPolicy) -> Run:
    """Of a kind whose replicas keep their names, and that may have the fields of `runPolicy` in `spec`, too. Replicas
    that are never restarted are not tried again, whatever the limit."""
    limits = run_policy.limits(policy, beside)
    clean = CleanPodPolicy(limits.clean_pod_policy or CleanPodPolicy.NONE)
    return Run(
        clean_pod_policy=clean,
        retries=retries(limits.backoff_limit, RestartPolicy.ON_FAILURE),
        suspend=bool(policy.suspend),
        ttl_seconds_after_finished=limits.ttl_seconds_after_finished,
        active_deadline_seconds=limits.active_deadline_seconds,
        scheduling=limits.scheduling_policy,
    )
