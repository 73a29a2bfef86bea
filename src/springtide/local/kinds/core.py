# SPDX-License-Identifier: Apache-2.0
"""The strategies of the core group, and of events in events.k8s.io."""

from __future__ import annotations

from collections.abc import Mapping

from springtide.local.kinds.basic.cluster_core import NAMESPACE, RESOURCE_QUOTA
from springtide.local.kinds.basic.config import CONFIG_MAP, SECRET, SERVICE_ACCOUNT
from springtide.local.kinds.basic.endpoints import ENDPOINTS
from springtide.local.kinds.basic.events import CORE_EVENT, EVENT
from springtide.local.kinds.basic.nodes import NODE
from springtide.local.kinds.basic.services import SERVICE
from springtide.local.kinds.basic.storage_claims import PERSISTENT_VOLUME_CLAIM
from springtide.local.kinds.basic.storage_core import PERSISTENT_VOLUME
from springtide.local.kinds.pod.pods import POD
from springtide.local.kinds.strategy import Strategy

STRATEGIES: Mapping[tuple[str, str], Strategy] = {
    ("", "ConfigMap"): CONFIG_MAP,
    ("", "Endpoints"): ENDPOINTS,
    ("", "Event"): CORE_EVENT,
    ("", "Namespace"): NAMESPACE,
    ("", "Node"): NODE,
    ("", "PersistentVolume"): PERSISTENT_VOLUME,
    ("", "PersistentVolumeClaim"): PERSISTENT_VOLUME_CLAIM,
    ("", "Pod"): POD,
    ("", "ResourceQuota"): RESOURCE_QUOTA,
    ("", "Secret"): SECRET,
    ("", "Service"): SERVICE,
    ("", "ServiceAccount"): SERVICE_ACCOUNT,
    ("events.k8s.io", "Event"): EVENT,
}
"""By (group, kind)."""
