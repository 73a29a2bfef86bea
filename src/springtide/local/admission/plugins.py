# SPDX-License-Identifier: Apache-2.0
"""The chain of the embedded server: kube-apiserver's default plugins, as far as their kinds are served here.

Omitted because they would have no effect here: LimitRanger, PodSecurity, ingress and certificate plugins, mutating
webhooks and admission policies.
"""

from __future__ import annotations

from dataclasses import dataclass

from springtide.local.admission.chain import Chain
from springtide.local.admission.namespaces import NamespaceLifecycle
from springtide.local.admission.nodes import DefaultTolerations, TaintNewNodes
from springtide.local.admission.priorities import OneDefaultClass, PodPriority
from springtide.local.admission.quotas import Reserve, ResourceQuotas
from springtide.local.admission.request import Reader
from springtide.local.admission.runtimes import NoRuntimeClasses
from springtide.local.admission.serviceaccounts import ServiceAccounts
from springtide.local.admission.storage import ClaimResize, DefaultStorageClass, ProtectInUse
from springtide.local.admission.webhook_calls import Call
from springtide.local.admission.webhook_rules import VersionsOf
from springtide.local.admission.webhooks import ValidatingWebhooks


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Dependencies of the plugins."""

    reader: Reader
    reserve: Reserve
    call: Call
    versions_of: VersionsOf


def default_chain(server: Surroundings) -> Chain:
    reader = server.reader
    return Chain(
        mutating=[
            NamespaceLifecycle(reader),
            ServiceAccounts(reader),
            TaintNewNodes(),
            PodPriority(reader),
            DefaultTolerations(),
            DefaultStorageClass(reader),
            ProtectInUse(),
            NoRuntimeClasses(),
        ],
        validating=[
            OneDefaultClass(reader),
            ClaimResize(reader),
            ValidatingWebhooks(reader, server.call, server.versions_of),
            ResourceQuotas(reader, server.reserve),
        ],
    )
