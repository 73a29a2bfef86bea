# SPDX-License-Identifier: Apache-2.0
"""The hosts that a certificate is for, by address or by name."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address

from cryptography import x509


def alternative_names(hosts: Iterable[str]) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName([_general_name(host) for host in hosts])


def hosts_of(certificate: x509.Certificate) -> set[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    return {*names.get_values_for_type(x509.DNSName), *addresses}


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
