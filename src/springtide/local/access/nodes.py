# SPDX-License-Identifier: Apache-2.0
"""What a kubelet may touch: the system:node role, cut down to its own node where a name says whose it is.

kube-apiserver's node authorizer follows pods to the secrets and volumes they mount and lets a node read only those.
Here every node is cut out of one machine and run by one person, so that graph would protect nobody from anybody: a
node may read what the system:node role names, but only its own Node object and its own Lease are open to its writes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from springtide.local.access.attributes import Attributes

NODE_LEASES: Final = "kube-node-lease"


class Limit(NamedTuple):
    """The object names a node may use in this request, and what it hears about the others."""

    names: tuple[str, ...]
    refusal: str


def own_node_only(node: str, wanted: Attributes) -> Limit | None:
    """None when the role alone decides."""
    if (wanted.group, wanted.resource) == ("coordination.k8s.io", "leases"):
        if wanted.namespace != NODE_LEASES:
            return Limit((), f'can only access leases in the "{NODE_LEASES}" system namespace')
        if wanted.verb != "create":  # a create has no name yet
            return Limit((node,), "can only access node lease with the same name as the requesting node")
    if (wanted.group, wanted.resource) == ("", "nodes") and wanted.verb in ("update", "patch"):
        return Limit((node,), f"node '{node}' is not allowed to modify other nodes")
    return None
