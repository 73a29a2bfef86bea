# SPDX-License-Identifier: Apache-2.0
"""A pod's own /etc: hosts, resolv.conf, hostname, passwd and group.

The texts are built by pure functions. They are bound into containers as files, so a changed one is written in place:
after a rename, a bind mount would still show the old file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from springtide.local.kubelet.containers import pod_files

LONGEST = 1 << 20
"""Size limit in bytes of files that the agent wrote and programs may write to."""
_HEADER = "# Kubernetes-managed hosts file.\n"
_HOST_NETWORK_HEADER = "# Kubernetes-managed hosts file (host network).\n"
_LOCALHOST = (
    "127.0.0.1\tlocalhost\n"
    "::1\tlocalhost ip6-localhost ip6-loopback\n"
    "fe00::0\tip6-localnet\n"
    "fe00::0\tip6-mcastprefix\n"
    "fe00::1\tip6-allnodes\n"
    "fe00::2\tip6-allrouters\n"
)
_LONGEST_HOSTNAME = 63
_LONGEST_NODENAME = 64


class HostnameError(ValueError):
    """A hostname that the kernel rejects; the message is kubelet's."""


class Hostname(NamedTuple):
    name: str
    domain: str
    """The rest of the fully qualified name, or empty."""

    @property
    def full(self) -> str:
        return f"{self.name}.{self.domain}" if self.domain else self.name


def hostname_of(pod: Mapping[str, Any], cluster_domain: str) -> Hostname:
    spec, metadata = pod["spec"], pod["metadata"]
    if override := spec.get("hostnameOverride"):
        return Hostname(_shortened(override), "")
    subdomain = spec.get("subdomain")
    domain = f"{subdomain}.{metadata['namespace']}.svc.{cluster_domain}" if subdomain else ""
    return Hostname(_shortened(spec.get("hostname") or metadata["name"]), domain)


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_HOSTNAME else name[:_LONGEST_HOSTNAME].rstrip("-.")


def nodename(pod: Mapping[str, Any], hostname: Hostname) -> str:
    """The hostname set in the kernel: the short name unless setHostnameAsFQDN is set."""
    if not (hostname.domain and pod["spec"].get("setHostnameAsFQDN")):
        return hostname.name
    if len(hostname.full) > _LONGEST_NODENAME:
        raise HostnameError(
            "failed to construct FQDN from pod hostname and cluster domain, "
            f"FQDN {hostname.full} is too long ({_LONGEST_NODENAME} characters is the max, "
            f"{len(hostname.full)} characters requested)"
        )
    return hostname.full


# hosts


def hosts(pod: Mapping[str, Any], address: str, hostname: Hostname, host_file: str) -> str:
    aliases = _aliases(pod["spec"].get("hostAliases") or ())
    if pod["spec"].get("hostNetwork"):
        return f"{_HOST_NETWORK_HEADER}{host_file}{aliases}"
    names = f"{hostname.full}\t{hostname.name}" if hostname.domain else hostname.name
    own = f"{address}\t{names}\n" if address else ""
    return f"{_HEADER}{_LOCALHOST}{own}{aliases}"


def _aliases(aliases: Sequence[Mapping[str, Any]]) -> str:
    if not aliases:
        return ""
    lines = "".join(f"{alias['ip']}\t{chr(9).join(alias.get('hostnames') or ())}\n" for alias in aliases)
    return f"\n# Entries added by HostAliases.\n{lines}"


# resolv.conf

_MOST_SERVERS, _MOST_DOMAINS, _LONGEST_DOMAIN, _LONGEST_SEARCH = 3, 32, 253, 2048


@dataclass(frozen=True, slots=True)
class Resolver:
    servers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        """In the order in which a container runtime writes them."""
        lines = [f"search {' '.join(self.searches)}"] if self.searches else []
        lines += [f"nameserver {server}" for server in self.servers]
        lines += [f"options {' '.join(self.options)}"] if self.options else []
        return "".join(f"{line}\n" for line in lines)


def parse_resolver(text: str) -> Resolver:
    servers: list[str] = []
    searches: list[str] = []
    options: list[str] = []
    for line in text.splitlines():
        words = line.split()
        match words:
            case ["nameserver", server, *_]:
                servers.append(server)
            case ["search", *domains]:
                searches = [domain.removesuffix(".") for domain in domains if domain != "."]
            case ["options", *given]:
                options = _merged_options(options, given)
    return Resolver(tuple(servers), tuple(searches), tuple(options))


def resolver(pod: Mapping[str, Any], host: Resolver, cluster_dns: str, cluster_domain: str) -> Resolver:
    spec = pod["spec"]
    policy = spec.get("dnsPolicy") or "ClusterFirst"
    if policy == "None":
        found = Resolver()
    elif policy == "Default" or (policy == "ClusterFirst" and spec.get("hostNetwork")):
        found = host
    else:
        namespace = pod["metadata"]["namespace"]
        searches = (f"{namespace}.svc.{cluster_domain}", f"svc.{cluster_domain}", cluster_domain, *host.searches)
        found = Resolver((cluster_dns,), _unique(searches), ("ndots:5",))
    return _within_limits(_configured(found, spec.get("dnsConfig") or {}))


def _configured(found: Resolver, config: Mapping[str, Any]) -> Resolver:
    options = [
        f"{option['name']}:{option['value']}" if option.get("value") else str(option["name"])
        for option in config.get("options") or ()
    ]
    return Resolver(
        _unique((*found.servers, *(config.get("nameservers") or ()))),
        _unique((*found.searches, *(config.get("searches") or ()))),
        tuple(_merged_options(found.options, options)),
    )


def _merged_options(known: Iterable[str], more: Iterable[str]) -> list[str]:
    return list({option.partition(":")[0]: option for option in (*known, *more)}.values())


def _within_limits(found: Resolver) -> Resolver:
    searches = [domain for domain in found.searches[:_MOST_DOMAINS] if len(domain) <= _LONGEST_DOMAIN]
    while len(" ".join(searches)) > _LONGEST_SEARCH:
        searches.pop()
    return replace(found, servers=found.servers[:_MOST_SERVERS], searches=tuple(searches))


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


# passwd and group


class Account(NamedTuple):
    """The user that programs run as."""

    name: str
    uid: int
    gid: int
    shell: str
    home: str = "/root"


def passwd(host_file: str, own: Account, is_root: bool = False) -> str:
    """The host's users, with root's home at /root and a home for the user that programs run as.

    An ordinary user's programs run under that user's uid, and sshd and ssh look up home and shell by it. The password
    field is `*` instead of a reference to the shadow file: nothing in the pod may read that file, and sshd's PAM would
    reject the user.

    `is_root`: the name of root stands for the same user, where all programs run as one ordinary user. Clients that log
    in as root reach the sshd of that user.
    """
    lines = [line for line in host_file.splitlines() if line.count(":") == 6]
    kept = [line for line in lines if line.split(":")[2] not in ("0", str(own.uid))]
    root = f"root:x:0:0:root:/root:{own.shell}"
    same = f"*:{own.uid}:{own.gid}:{own.name}:{own.home}:{own.shell}"
    if not own.uid:
        ours = [root]
    elif is_root:
        ours = [f"{own.name}:{same}", f"root:{same}"]
    else:
        ours = [root, f"{own.name}:{same}"]
    return "".join(f"{line}\n" for line in (*ours, *kept))


def group(host_file: str, own: Account) -> str:
    """The host's groups, and the user's own group where the host's file does not have it."""
    lines = [line for line in host_file.splitlines() if line.count(":") == 3]
    if not any(line.split(":")[2] == str(own.gid) for line in lines):
        lines.append(f"{own.name}:x:{own.gid}:")
    return "".join(f"{line}\n" for line in lines)


def home_of(passwd_file: str, uid: int) -> str:
    """The home of a uid as a container runtime finds it: `/` for an unknown uid."""
    for line in passwd_file.splitlines():
        parts = line.split(":")
        if len(parts) == 7 and parts[2] == str(uid):
            return parts[5] or "/"
    return "/"


# Writing


def write(directory: Path, files: Mapping[str, str]) -> None:
    """Write each file under its name, in place, and only where it differs."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = directory / name
        try:
            if pod_files.read(path, LONGEST).decode(errors="surrogateescape") == text:
                continue
        except OSError:  # missing, or overwritten by a program
            pass
        _rewrite(path, text.encode(errors="surrogateescape"))
        path.chmod(0o644)


def _rewrite(path: Path, text: bytes) -> None:
    """Write in place, completely or not at all: where the disk is full, the previous content is restored."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        before = os.pread(descriptor, LONGEST, 0)
        try:
            _fill(descriptor, text)
        except OSError:
            _fill(descriptor, before)
            raise
    finally:
        os.close(descriptor)


def _fill(descriptor: int, text: bytes) -> None:
    done = 0
    while done < len(text):
        done += os.pwrite(descriptor, text[done:], done)
    os.ftruncate(descriptor, len(text))
