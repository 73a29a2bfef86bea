# SPDX-License-Identifier: Apache-2.0
"""Permissions of kubelets: the system:node role, limited to their own Node and Lease for writes.

kube-apiserver's node authorizer follows pods to the secrets and volumes they mount and lets a node read only those.
Here all nodes are parts of one machine and belong to one user, so such a limit would have no effect: a node may read
everything that the system:node role allows, but write only its own Node object and its own Lease.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from springtide.local.access.attributes import Attributes

NODE_LEASES: Final = "kube-node-lease"


class Limit(NamedTuple):
    """The object names that a node may use in this request, and the message for other names."""

    names: tuple[str, ...]
    refusal: str


def own_node_only(node: str, wanted: Attributes) -> Limit | None:
    """The limit of a node for a request; None when the role alone decides."""
    if (wanted.group, wanted.resource) == ("coordination.k8s.io", "leases"):
        if wanted.namespace != NODE_LEASES:
            return Limit((), f'can only access leases in the "{NODE_LEASES}" system namespace')
        if wanted.verb != "create":  # a create has no name yet
            return Limit((node,), "can only access node lease with the same name as the requesting node")
    if (wanted.group, wanted.resource) == ("", "nodes") and wanted.verb in ("update", "patch"):
        return Limit((node,), f"node '{node}' is not allowed to modify other nodes")
    return None
