# SPDX-License-Identifier: Apache-2.0
"""Services: a stable address and name for a changing set of pods.

The required fields depend on the service's type, and several are pairs that must agree (`clusterIP` and `clusterIPs`);
preparing a write makes them consistent. The API server allocates addresses and node ports between `prepare_*` and
`validate`; `wants_cluster_ip` and `ports_without_node_port` return what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from springtide.api.field_errors import FieldError, invalid
from springtide.local.kinds.basic.services_rules import (
    is_external,
    is_headless,
    needs_health_check,
    validate_addresses,
    validate_service,
    validate_service_status,
    validate_service_update,
)
from springtide.local.kinds.columns import AGE, NAME, NONE, age_of, labels_text, name_of
from springtide.local.kinds.strategy import Column, Obj, Strategy

_AFFINITY_SECONDS = 10800
_POLICY = "spec.ipFamilyPolicy"


def wants_cluster_ip(service: Obj) -> bool:
    """Whether the service needs an address and has none yet."""
    spec: Obj = service["spec"]
    return spec.get("type") != "ExternalName" and not spec.get("clusterIPs")


def ports_without_node_port(service: Obj) -> list[Obj]:
    """The entries of `spec.ports` that still need a node port, to be filled in place."""
    spec: Obj = service["spec"]
    kind = spec.get("type")
    if kind == "NodePort" or (kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts")):
        return [port for port in spec.get("ports") or () if not port.get("nodePort")]
    return []


def validate_before_allocation(service: Obj) -> list[FieldError]:
    """Rules that must hold before an address is allocated; errors end the request before all other rules."""
    spec: Obj = service["spec"]
    if spec.get("type") == "ExternalName":
        return []
    if errors := validate_addresses(spec):
        return errors
    policy, families = spec.get("ipFamilyPolicy"), spec.get("ipFamilies") or []
    if policy == "SingleStack" and len(families) == 2:
        why = "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified"
        return [invalid(_POLICY, policy, why)]
    if spec.get("clusterIP") == "None" and not spec.get("selector"):
        return []
    errors = []
    if policy == "RequireDualStack":
        errors.append(invalid(_POLICY, policy, "this cluster is not configured for dual-stack services"))
    return errors + [
        invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")
        for index, family in enumerate(families)
        if family != "IPv4"
    ]


def _default_service(service: Obj) -> None:
    spec: Obj = service.setdefault("spec", {})
    kind = spec["type"] = spec.get("type") or "ClusterIP"
    _default_affinity(spec)
    _default_ports(spec)
    if is_external(spec) and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if kind == "ExternalName":
        spec.pop("internalTrafficPolicy", None)
    elif kind in ("ClusterIP", "LoadBalancer", "NodePort"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    balancer = service.setdefault("status", {}).setdefault("loadBalancer", {})
    if kind == "LoadBalancer":
        for ingress in balancer.get("ingress") or ():
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def _default_ports(spec: Obj) -> None:
    for port in spec.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)


def _default_affinity(spec: Obj) -> None:
    if not spec.get("sessionAffinity"):
        spec["sessionAffinity"] = "None"
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        config = spec.get("sessionAffinityConfig") or {}
        if (config.get("clientIP") or {}).get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}


def _prepare_service(service: Obj) -> None:
    service["status"] = {"loadBalancer": {}}
    spec = service["spec"]
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    _settle_families(spec, {})


def _settle_families(spec: Obj, before: Obj) -> None:
    """Fill in the address family as far as it follows from the other fields; invalid values are left to validation."""
    if spec.get("type") == "ExternalName":
        return
    free_standing = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        inferred = "RequireDualStack" if free_standing else "SingleStack"
        spec["ipFamilyPolicy"] = before.get("ipFamilyPolicy") or inferred
    families = spec.get("ipFamilies")
    if not families:
        families = spec["ipFamilies"] = ["IPv4"]
    if free_standing and len(families) == 1 and spec["ipFamilyPolicy"] != "SingleStack":
        families.append("IPv6" if families[0] == "IPv4" else "IPv4")


def _prepare_service_update(new: Obj, old: Obj) -> None:
    spec, before = new["spec"], old["spec"]
    _keep_allocated(spec, before)
    _follow_cluster_ip(spec, before)
    _settle_families(spec, before)
    _drop_what_the_type_does_not_need(spec, before)
    if spec["type"] != "LoadBalancer":
        new["status"] = {**(old.get("status") or {}), "loadBalancer": {}}


def _keep_allocated(spec: Obj, before: Obj) -> None:
    """Keep addresses and ports, so that applying the same manifest again requests no new ones."""
    if "ExternalName" not in (spec["type"], before.get("type")):
        if not spec.get("clusterIP") and before.get("clusterIP"):
            spec["clusterIP"] = before["clusterIP"]
        if not spec.get("clusterIPs") and before.get("clusterIPs"):
            spec["clusterIPs"] = list(before["clusterIPs"])
    if _uses_node_ports(spec) and _uses_node_ports(before):
        stored = {port.get("name", ""): port.get("nodePort", 0) for port in before.get("ports") or ()}
        used = set(stored.values()) & {port.get("nodePort", 0) for port in spec.get("ports") or ()}
        for port in spec.get("ports") or ():
            number = stored.get(port.get("name", ""), 0)
            if not port.get("nodePort") and number and number not in used:
                port["nodePort"] = number
    probed = before.get("healthCheckNodePort")
    if probed and needs_health_check(spec) and needs_health_check(before) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = probed


def _uses_node_ports(spec: Obj) -> bool:
    return spec.get("type") in ("LoadBalancer", "NodePort")


def _follow_cluster_ip(spec: Obj, before: Obj) -> None:
    """Set `clusterIPs` from `clusterIP`, the only one that old clients know."""
    address, was = spec.get("clusterIP", ""), before.get("clusterIP", "")
    if address != was and (spec.get("clusterIPs") or []) == (before.get("clusterIPs") or []):
        if address:
            spec["clusterIPs"] = [address]
        else:
            spec.pop("clusterIPs", None)


def _drop_what_the_type_does_not_need(spec: Obj, before: Obj) -> None:
    """Drop only fields that the writer left unchanged: changed values are rejected by validation."""
    if spec["type"] == "ExternalName" and before.get("type") != "ExternalName":
        pairs = [("clusterIP", "clusterIPs"), ("ipFamilies",), ("ipFamilyPolicy",)]
        for fields in pairs:
            if all(spec.get(field) == before.get(field) for field in fields):
                for field in fields:
                    spec.pop(field, None)
    if _uses_node_ports(before) and not _uses_node_ports(spec):
        _drop_node_ports(spec, before)
    if needs_health_check(before) and not needs_health_check(spec):
        _drop_unchanged(spec, before, "healthCheckNodePort")
    if before.get("type") == "LoadBalancer" and spec["type"] != "LoadBalancer":
        _drop_unchanged(spec, before, "allocateLoadBalancerNodePorts")
        _drop_unchanged(spec, before, "loadBalancerClass")
    if is_external(before) and not is_external(spec):
        _drop_unchanged(spec, before, "externalTrafficPolicy")


def _drop_unchanged(spec: Obj, before: Obj, field: str) -> None:
    if spec.get(field) == before.get(field):
        spec.pop(field, None)


def _drop_node_ports(spec: Obj, before: Obj) -> None:
    stored = {port.get("nodePort") for port in before.get("ports") or ()}
    ports = spec.get("ports") or ()
    if all(port.get("nodePort") in stored for port in ports if port.get("nodePort")):
        for port in ports:
            port.pop("nodePort", None)


def _service_warnings(service: Obj) -> list[str]:
    spec, annotations = service["spec"], service["metadata"].get("annotations") or {}
    sentences: list[str] = []
    hints = "service.kubernetes.io/topology-aware-hints"
    if hints in annotations:
        sentences.append(f"annotation {hints} is deprecated, please use service.kubernetes.io/topology-mode instead")
    if is_headless(spec) and spec["type"] == "ClusterIP":
        if spec.get("loadBalancerIP"):
            sentences.append("spec.loadBalancerIP is ignored for headless services")
        if spec.get("externalIPs"):
            sentences.append("spec.externalIPs is ignored for headless services")
        if spec.get("sessionAffinity") != "None":
            sentences.append("spec.SessionAffinity is ignored for headless services")
    elif spec.get("externalIPs") and spec["type"] != "ExternalName":
        sentences.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if spec["type"] == "ExternalName" and spec.get("externalIPs"):
        sentences.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if spec["type"] != "ExternalName" and spec.get("externalName"):
        sentences.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        sentences.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return sentences


def _service_cells(service: Obj, now: str) -> Sequence[Any]:
    spec = service.get("spec") or {}
    addresses = spec.get("clusterIPs")
    return (
        name_of(service),
        spec.get("type", ""),
        addresses[0] if addresses else NONE,
        _external_address(service, spec),
        ",".join(_port_text(port) for port in spec.get("ports") or ()) or NONE,
        age_of(service, now),
        labels_text(spec.get("selector")),
    )


def _port_text(port: Obj) -> str:
    number = f"{port['port']}:{port['nodePort']}" if port.get("nodePort") else str(port["port"])
    return f"{number}/{port.get('protocol', '')}"


def _external_address(service: Obj, spec: Obj) -> str:
    kind, extra = spec.get("type"), spec.get("externalIPs") or []
    if kind == "ExternalName":
        name: str = spec.get("externalName", "")
        return name
    if kind != "LoadBalancer":
        return ",".join(extra) or NONE
    ingress = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    balanced = sorted({entry.get("ip") or entry.get("hostname", "") for entry in ingress} - {""})
    return ",".join([*balanced, *extra]) or "<pending>"


def _spec_field(field: str, service: Obj) -> str:
    value: str = (service.get("spec") or {}).get(field, "")
    return value


SERVICE = Strategy(
    default=_default_service,
    prepare_create=_prepare_service,
    prepare_update=_prepare_service_update,
    validate=validate_service,
    validate_update=validate_service_update,
    validate_status=validate_service_status,
    has_status=True,
    columns=(
        NAME,
        Column(
            "Type",
            description=(
                "type determines how the Service is exposed. Defaults to ClusterIP. Valid options are ExternalName, "
                'ClusterIP, NodePort, and LoadBalancer. "ClusterIP" allocates a cluster-internal IP address for '
                "load-balancing to endpoints. Endpoints are determined by the selector or if that is not specified, by "
                'manual construction of an Endpoints object or EndpointSlice objects. If clusterIP is "None", no '
                "virtual IP is allocated and the endpoints are published as a set of endpoints rather than a virtual "
                'IP. "NodePort" builds on ClusterIP and allocates a port on every node which routes to the same '
                'endpoints as the clusterIP. "LoadBalancer" builds on NodePort and creates an external load-balancer '
                "(if supported in the current cloud) which routes to the same endpoints as the clusterIP. "
                '"ExternalName" aliases this service to the specified externalName. Several other fields do not '
                "apply to ExternalName services. More info: "
                "https://kubernetes.io/docs/concepts/services-networking/service/#publishing-services-service-types"
            ),
        ),
        Column(
            "Cluster-IP",
            description=(
                "clusterIP is the IP address of the service and is usually assigned randomly. If an address is "
                "specified manually, is in-range (as per system configuration), and is not in use, it will be "
                "allocated to the service; otherwise creation of the service will fail. This field may not be changed "
                "through updates unless the type field is also being changed to ExternalName (which requires this "
                "field to be blank) or the type field is being changed from ExternalName (in which case this field may "
                'optionally be specified, as describe above).  Valid values are "None", empty string (""), or a '
                'valid IP address. Setting this to "None" makes a "headless service" (no virtual IP), which is '
                "useful when direct endpoint connections are preferred and proxying is not required.  Only applies to "
                "types ClusterIP, NodePort, and LoadBalancer. If this field is specified when creating a Service of "
                "type ExternalName, creation will fail. This field will be wiped when updating a Service to type "
                "ExternalName. More info: "
                "https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies"
            ),
        ),
        Column(
            "External-IP",
            description=(
                "externalIPs is a list of IP addresses for which nodes in the cluster will also accept traffic for "
                "this service.  These IPs are not managed by Kubernetes.  The user is responsible for ensuring that "
                "traffic arrives at a node with this IP.  A common example is external load-balancers that are not "
                "part of the Kubernetes system."
            ),
        ),
        Column(
            "Port(s)",
            description=(
                "The list of ports that are exposed by this service. More info: "
                "https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies"
            ),
        ),
        AGE,
        Column(
            "Selector",
            description=(
                "Route service traffic to pods with label keys and values matching this selector. If empty or not "
                "present, the service is assumed to have an external process managing its endpoints, which Kubernetes "
                "will not modify. Only applies to types ClusterIP, NodePort, and LoadBalancer. Ignored if type is "
                "ExternalName. More info: https://kubernetes.io/docs/concepts/services-networking/service/"
            ),
            priority=1,
        ),
    ),
    cells=_service_cells,
    fields={
        "spec.clusterIP": lambda service: _spec_field("clusterIP", service),
        "spec.type": lambda service: _spec_field("type", service),
    },
    warnings=_service_warnings,
)
