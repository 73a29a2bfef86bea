# SPDX-License-Identifier: Apache-2.0
"""The strategies of the built-in kinds outside the core group, for the API server's registry."""

from __future__ import annotations

from springtide.local.kinds.groups import (
    admissionregistration,
    apiextensions,
    apps,
    autoscaling,
    batch,
    coordination,
    discovery,
    policy,
    rbac,
    scheduling,
    storage,
)
from springtide.local.kinds.strategy import Strategy

STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("apps", "Deployment"): apps.DEPLOYMENT,
    ("apps", "ReplicaSet"): apps.REPLICA_SET,
    ("batch", "Job"): batch.JOB,
    ("autoscaling", "HorizontalPodAutoscaler"): autoscaling.HORIZONTAL_POD_AUTOSCALER,
    ("autoscaling", "Scale"): autoscaling.SCALE,
    ("policy", "PodDisruptionBudget"): policy.POD_DISRUPTION_BUDGET,
    (rbac.GROUP, "Role"): rbac.ROLE,
    (rbac.GROUP, "RoleBinding"): rbac.ROLE_BINDING,
    (rbac.GROUP, "ClusterRole"): rbac.CLUSTER_ROLE,
    (rbac.GROUP, "ClusterRoleBinding"): rbac.CLUSTER_ROLE_BINDING,
    ("storage.k8s.io", "StorageClass"): storage.STORAGE_CLASS,
    ("scheduling.k8s.io", "PriorityClass"): scheduling.PRIORITY_CLASS,
    ("coordination.k8s.io", "Lease"): coordination.LEASE,
    ("discovery.k8s.io", "EndpointSlice"): discovery.ENDPOINT_SLICE,
    (
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
    ): admissionregistration.VALIDATING_WEBHOOK_CONFIGURATION,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): apiextensions.CUSTOM_RESOURCE_DEFINITION,
}
