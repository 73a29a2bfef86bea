# SPDX-License-Identifier: Apache-2.0
"""A pod's sandbox on disk: its own /etc and `body.json`, all that a shim needs to start."""

from __future__ import annotations

import os
import pwd
import socket
from pathlib import Path

import msgspec

from springtide.kube.resources import Obj
from springtide.local.kubelet.containers import etc_files, exec_sockets
from springtide.local.kubelet.containers.refusals import NotReady
from springtide.local.kubelet.node.facts import Facts
from springtide.local.kubelet.volumes import empty_dirs
from springtide.local.runtime.contract import Memory, PodBody

_ETC = Path("/etc")


def write(pod: Obj, directory: Path, facts: Facts) -> PodBody:
    """Write both. May be repeated at any time: running programs see the new /etc."""
    metadata, spec = pod["metadata"], pod["spec"]
    on_host = bool(spec.get("hostNetwork"))
    hostname = etc_files.hostname_of(pod, facts.cluster_domain)
    try:
        nodename = socket.gethostname() if on_host else etc_files.nodename(pod, hostname)
    except etc_files.HostnameError as error:
        raise NotReady("FailedCreatePodSandBox", f"Failed to create pod sandbox: {error}") from None
    address = _address(directory)
    etc_files.write(directory / "etc", _texts(pod, address, hostname, facts) | {"hostname": f"{nodename}\n"})
    body = PodBody(
        uid=metadata["uid"],
        namespace=metadata["namespace"],
        name=metadata["name"],
        hostname=nodename,
        domain="" if on_host else hostname.domain,
        address="" if on_host else address,
        holder=str(facts.holder) if facts.isolated and not on_host else "",
        exec_socket=str(facts.exec_directory / exec_sockets.name_of(metadata["uid"])),
        isolation=facts.isolation,
        share_processes=bool(spec.get("shareProcessNamespace")),
        memory=_memory(pod, directory, facts),
    )
    _write_body(directory, msgspec.json.encode(body))
    return body


def _memory(pod: Obj, directory: Path, facts: Facts) -> tuple[Memory, ...]:
    if not facts.isolated:
        return ()
    return tuple(empty_dirs.in_memory(pod, directory / "volumes", facts.allocatable, is_root=facts.is_root))


def _write_body(directory: Path, text: bytes) -> None:
    path = directory / "body.json"
    if path.exists() and path.read_bytes() == text:
        return
    draft = directory / "body.json.new"
    draft.write_bytes(text)
    draft.replace(path)


def _texts(pod: Obj, address: str, hostname: etc_files.Hostname, facts: Facts) -> dict[str, str]:
    host = etc_files.parse_resolver(_text(facts.resolver))
    user = account(facts.uid, facts.gid)
    return {
        "hosts": etc_files.hosts(pod, address, hostname, _text(_ETC / "hosts")),
        "resolv.conf": str(etc_files.resolver(pod, host, facts.cluster_dns, facts.cluster_domain)),
        "passwd": etc_files.passwd(_text(_ETC / "passwd"), user),
        "group": etc_files.group(_text(_ETC / "group"), user),
    }


def _address(directory: Path) -> str:
    """The address that the agent recorded when it assigned one to the pod."""
    try:
        return str(msgspec.json.decode((directory / "pod.json").read_bytes()).get("address", ""))
    except FileNotFoundError:
        return ""


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="surrogateescape")
    except OSError:
        return ""


def account(uid: int, gid: int, home: str = "/root") -> etc_files.Account:
    """The account of a uid of this machine, as pods see it."""
    return etc_files.Account(_user_name(uid), uid, gid, _shell(), home)


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user{uid}"


def _shell() -> str:
    return "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"
