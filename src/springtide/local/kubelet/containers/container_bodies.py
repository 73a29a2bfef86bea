# SPDX-License-Identifier: Apache-2.0
"""The complete body of one attempt to run a container: program, variables, user and mounts."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from springtide.api import quantity
from springtide.kube.resources import Key, Obj
from springtide.local.environments import advice
from springtide.local.environments.environment import Environment
from springtide.local.kubelet.containers import (
    etc_files,
    exec_sockets,
    finding,
    mounts,
    pod_files,
    programs,
    rewriting,
    sandboxes,
    ssh,
)
from springtide.local.kubelet.containers.refusals import NOT_HERE, NotReady
from springtide.local.kubelet.devices.placing import NoDeviceError
from springtide.local.kubelet.node.facts import Facts
from springtide.local.kubelet.sources import Sources
from springtide.local.kubelet.specs import expansion, users, variables
from springtide.local.kubelet.specs.variables import Service, ServiceName, ServicePort, ServiceSpec, VariableError
from springtide.local.kubelet.volumes import subpaths
from springtide.local.kubelet.volumes.setup import Volume
from springtide.local.runtime.contract import ContainerBody, Mount, PodBody

_LONGEST_ENV_FILE = 64 << 10
"""Size limit of a file of variables in bytes, as in kubelet."""


class Devices(Protocol):
    def allocate(self, pod_uid: str, container: str, wanted: Mapping[str, int]) -> dict[str, str]:
        """Variables with the devices allocated to a container."""

    def release(self, pod_uid: str) -> None:
        """Release a pod's devices."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A pod whose containers may start."""

    body: PodBody
    directory: Path
    volumes: Mapping[str, Volume] = field(default_factory=dict)
    warnings: tuple[tuple[str, str], ...] = ()
    """Reasons and messages of events about parts of the pod's spec that have no effect here."""


class ContainerBodies:
    def __init__(self, facts: Facts, sources: Sources, devices: Devices) -> None:
        self._facts = facts
        self._sources = sources
        self._devices = devices
        self._last_services: tuple[list[Service], Mapping[str, str]] = ([], {})

    def make(
        self, pod: Obj, container: Obj, environment: Environment, attempt: int, prepared: Prepared
    ) -> ContainerBody:
        """The body of one attempt. Creates parts of volumes and the file for the termination message where they are
        missing."""
        namespace, name = pod["metadata"]["namespace"], container["name"]
        user = self._user(pod, container)
        given = self._variables(pod, container, prepared)
        argv = _argv(container, environment, given)
        of_args = bool(container.get("args")) and not container.get("command")
        base = {"PATH": variables.search_path([environment.prefix]), "HOSTNAME": prepared.body.hostname}
        base |= environment.variables
        if container.get("tty"):
            base["TERM"] = "xterm"
        env = base | given
        keys = ssh.keys_of(pod, container, lambda name: self._sources.private_key(Key(namespace, name)))
        home = self._home(user, keys, prepared.directory)
        env.setdefault("HOME", home)
        cwd = container.get("workingDir") or environment.workdir or "/"
        own = self._volumes(container, given, prepared)
        needed = [*mounts.of_etc(prepared.directory), *self._provided(pod, container, attempt, prepared.directory)]
        told = {name: env[name] for name in ("PATH", *environment.variables)}
        login = self._login(name, user, keys, told, home, prepared.directory)
        kubectl = Mount(mounts.KUBECTL, str(self._facts.program_directory), read_only=True, optional=True)
        brought = [
            *mounts.of_environment(environment, self._facts.hidden),
            *_layer(environment, prepared.directory / "containers" / name / f"{attempt}.layer"),
        ]
        seen = mounts.together(needed, [kubectl, *login], [*brought, *own])
        image = str(container.get("image") or "")
        if not environment.has(image):
            private = mounts.PRIVATE if self._facts.isolated else ()
            if finding.is_missing(argv[0], env["PATH"], cwd, seen, private, [mount.target for mount in own]):
                raise NotReady(NOT_HERE, advice.explain_absent(image, argv[0], of_args=of_args))
        body = ContainerBody(
            name=name,
            attempt=attempt,
            argv=argv,
            env=env,
            cwd=cwd,
            log=str(self._logs(pod) / name / f"{attempt}.log"),
            mounts=seen,
            stdin=bool(container.get("stdin")),
            stdin_once=bool(container.get("stdinOnce")),
            tty=bool(container.get("tty")),
            memory_limit=_memory_limit(pod, container),
            user=user.uid,
            group=user.gid,
            groups=user.groups,
            read_only_root=bool((container.get("securityContext") or {}).get("readOnlyRootFilesystem")),
            hidden=self._facts.hidden,
            cure=advice.explain_missing(image, environment, argv[0], of_args=of_args),
        )
        return body if self._facts.isolated else self._without_mounts(body, prepared)

    def _user(self, pod: Obj, container: Obj) -> users.User:
        if not self._facts.is_root:
            return users.User()
        try:
            return users.of_container(pod, container)
        except users.NotAllowed as error:
            raise NotReady("CreateContainerConfigError", str(error)) from None

    def _home(self, user: users.User, keys: ssh.Keys | None, directory: Path) -> str:
        if keys is not None and keys.home and (user.uid or not self._facts.is_root):
            return keys.home
        if not user.uid:
            return "/root"
        passwd = pod_files.read(directory / "etc" / "passwd", etc_files.LONGEST).decode(errors="surrogateescape")
        return etc_files.home_of(passwd, user.uid)

    def _variables(self, pod: Obj, container: Obj, prepared: Prepared) -> dict[str, str]:
        namespace = pod["metadata"]["namespace"]

        def config_map(name: str) -> variables.Data | None:
            found = self._sources.config_map(Key(namespace, name))
            return None if found is None else found.data or {}

        def secret(name: str) -> variables.Data | None:
            found = self._sources.secret(Key(namespace, name))
            return None if found is None else found.data or {}

        def file(volume: str, path: str) -> str:
            return _file(prepared.volumes.get(volume), volume, path)

        address, host = prepared.body.address or self._facts.host_ip, self._facts.host_ip
        wanted = _extended_resources(container)
        try:
            services = self._service_variables(self._services(pod))
            world = variables.World(config_map, secret, file, services, address, host, self._facts.allocatable)
            given = variables.of_container(pod, container, world)
            devices = self._devices.allocate(pod["metadata"]["uid"], container["name"], wanted)
        except (VariableError, NoDeviceError) as error:
            raise NotReady("CreateContainerConfigError", str(error)) from None
        return devices | given

    def _service_variables(self, services: list[Service]) -> Mapping[str, str]:
        """Cached until a service changes: most containers of a namespace start with the same services."""
        if services != self._last_services[0]:
            self._last_services = (services, variables.of_services(services))
        return self._last_services[1]

    def _services(self, pod: Obj) -> list[Service]:
        """The API server's service, and all services of the pod's namespace unless enableServiceLinks is false."""
        namespace, links = pod["metadata"]["namespace"], pod["spec"].get("enableServiceLinks", True)
        found = {service.metadata.name: service for service in self._sources.services(namespace) if links}
        on_host = pod["spec"].get("hostNetwork") or not self._facts.isolated
        server = _server_on_host(self._facts.server) if on_host else self._sources.api_server()
        return [*(found | ({"kubernetes": server} if server is not None else {})).values()]

    def _volumes(self, container: Obj, given: Mapping[str, str], prepared: Prepared) -> list[Mount]:
        try:
            return mounts.of_volumes(container, prepared.volumes, given)
        except mounts.MountError as error:
            raise NotReady("CreateContainerConfigError", str(error)) from None

    def _provided(self, pod: Obj, container: Obj, attempt: int, directory: Path) -> list[Mount]:
        sockets = exec_sockets.make(self._facts, pod["metadata"]["uid"])
        message = directory / "containers" / container["name"] / f"{attempt}.message"
        message.parent.mkdir(parents=True, exist_ok=True)
        message.touch()
        message.chmod(0o666)
        return [
            *mounts.of_paths(programs.needed(), self._facts.hidden),
            Mount(mounts.BIN, str(self._facts.program_directory), read_only=True),
            Mount(mounts.EXEC, str(sockets), read_only=True),
            Mount(container.get("terminationMessagePath") or "/dev/termination-log", str(message)),
        ]

    def _login(
        self, name: str, user: users.User, keys: ssh.Keys | None, told: Mapping[str, str], home: str, directory: Path
    ) -> list[Mount]:
        """The files by which other pods of the job can log in."""
        if keys is None:
            return []
        uid, gid = (user.uid or 0, user.gid or 0) if self._facts.is_root else (self._facts.uid, self._facts.gid)
        own = sandboxes.account(uid, gid, home)
        return ssh.write(directory / "containers" / name / "etc", keys, told, own, is_root=not self._facts.is_root)

    def _without_mounts(self, body: ContainerBody, prepared: Prepared) -> ContainerBody:
        """The same body for a machine without mounts: paths rewritten, and a home of its own."""
        home = prepared.directory / "containers" / body.name / "home"
        home.mkdir(parents=True, exist_ok=True)
        visible = {f"/etc/{name}" for name in mounts.ETC}
        places = {mount.target: mount.source for mount in body.mounts if mount.target not in visible}
        rewriter = rewriting.Rewriter(places)
        env = rewriter.values(body.env) | {"HOME": str(home), "SPRINGTIDE_EXEC_DIR": places[mounts.EXEC]}
        kubeconfig = prepared.directory / "etc" / "kubeconfig"
        if rewriting.ACCOUNT in places and kubeconfig.exists():
            env.setdefault("KUBECONFIG", str(kubeconfig))
        cwd = str(home) if body.cwd == "/" else rewriter.text(body.cwd)
        return msgspec.structs.replace(body, argv=rewriter.texts(body.argv), env=env, cwd=cwd, mounts=())

    def _logs(self, pod: Obj) -> Path:
        metadata = pod["metadata"]
        return self._facts.log_directory(metadata["namespace"], metadata["name"], metadata["uid"])


def _file(volume: Volume | None, name: str, path: str) -> str:
    if volume is None:
        raise VariableError(f'cannot find the volume "{name}" referenced by FileKeyRef')
    try:
        return pod_files.read(subpaths.real_path(volume.path, path), _LONGEST_ENV_FILE).decode()
    except (OSError, UnicodeDecodeError, subpaths.EscapeError):
        raise VariableError("couldn't parse env file") from None


def _server_on_host(url: str) -> Service:
    """A service with the server's real address: the cluster IP is not reachable from the host's network."""
    server = urlsplit(url)
    port = ServicePort(server.port or 443, "https")
    return Service(ServiceName("kubernetes", "default"), ServiceSpec(server.hostname or "", (port,)))


def _argv(container: Obj, environment: Environment, given: Mapping[str, str]) -> tuple[str, ...]:
    asked = {} if environment.notice else container
    command, args = asked.get("command") or (), asked.get("args") or ()
    try:
        argv = expansion.with_image(environment.entrypoint, environment.cmd, command, args, given)
    except expansion.TooLongError as error:
        message = f'the command of container "{container["name"]}" is too long: {error}'
        raise NotReady("CreateContainerConfigError", message) from None
    image = str(container.get("image") or "")
    if not argv and not environment.has(image):
        raise NotReady(NOT_HERE, advice.explain_absent(image, ""))
    if not argv:
        field = f'the command of container "{container["name"]}"'
        raise NotReady("CreateContainerError", advice.explain_no_command(image, environment, field))
    return argv


def _layer(environment: Environment, directory: Path) -> list[Mount]:
    """Copies of the environment's files that containers may write to, one for each attempt."""
    found = []
    for number, files in enumerate(each for each in environment.files if each.copied):
        place, draft = directory / str(number), directory / f"{number}.new"
        if not place.exists():
            shutil.rmtree(draft, ignore_errors=True)  # of an agent that was killed
            shutil.copytree(files.source, draft)
            draft.rename(place)
        found.append(Mount(os.path.normpath(files.target), str(place)))
    return found


def _memory_limit(pod: Mapping[str, Any], container: Mapping[str, Any]) -> int | None:
    """The container's own limit, or the whole pod's where only that is set."""
    for holder in (container, pod["spec"]):
        text = ((holder.get("resources") or {}).get("limits") or {}).get("memory")
        if text and quantity.parse(str(text)):
            return quantity.parse(str(text)).value
    return None


def _extended_resources(container: Mapping[str, Any]) -> dict[str, int]:
    limits = (container.get("resources") or {}).get("limits") or {}
    return {name: quantity.parse(str(amount)).value for name, amount in limits.items() if "/" in name}
