# SPDX-License-Identifier: Apache-2.0
"""How the containers of a TrainingJob reach each other over SSH.

Containers that run as root have the keys in root's home. OpenSSH rejects keys of its own user that others may read, so
they belong to root alone. They come by subPath: the folder of a volume is writable by all users, which sshd's
StrictModes rejects, a folder inside it is not.

A launcher that runs as another user can neither read those keys nor enter /root. It has the keys in a folder of its
own, where every user can read them: OpenSSH does not mind keys that belong to another user. The machine-wide
configuration of the client names that folder, and root as the user at the other end, because the workers' sshd is
root's. Nothing in the image changes, and `ssh HOST` needs no option. pdsh, which DeepSpeed uses, passes the local
user's name to ssh unless PDSH_SSH_ARGS leaves it out.
"""

from __future__ import annotations

from typing import Any, Final

from springtide.api.defaults.trainingjob import ET
from springtide.api.job import Job
from springtide.api.kinds.attach_mode import SSH_AUTH_MOUNT_PATH
from springtide.api.kinds.et_parts import CONFIG_VOLUME, KEYS_VOLUME
from springtide.jobs.kinds.elastic_training import names
from springtide.jobs.parts import ssh

Raw = dict[str, Any]

CLIENT: Final = "ssh_config"
KEYS: Final = "/etc/springtide/ssh"
FOR_PDSH: Final = {"PDSH_SSH_ARGS": "-2 -a -x %h"}
"""pdsh's own default without `-l%u`."""
_MACHINE_WIDE: Final = "/etc/ssh/ssh_config"
_FOLDER: Final = ".ssh"
_PATHS: Final = (
    (ssh.PRIVATE_FILE, "id_rsa"),
    (ssh.PUBLIC_FILE, "id_rsa.pub"),
    (ssh.PUBLIC_FILE, "authorized_keys"),
    (ssh.CONFIG, "config"),
)
SERVER: Final = (
    "mkdir -p /run/sshd; /usr/sbin/sshd -t 2>/dev/null || ssh-keygen -A; exec /usr/sbin/sshd -D -e -o MaxStartups=1000"
)
"""Images may lack the folder for privilege separation, or keys of the host. sshd stays in the foreground, so that the
pod ends with it. By default it drops connections when more than ten log in at once, as the ranks of one worker do."""
READY: Final = {"tcpSocket": {"port": 22}, "periodSeconds": 1, "failureThreshold": 60}
"""A startup probe: the pod is ready only when sshd accepts connections, and is not probed after that."""


def client() -> str:
    return ssh.client_of_ordinary_user(KEYS)


def add_keys(job: Job[ET], spec: Raw) -> None:
    """To all containers that run as root."""
    spec["containers"] = [_with_keys(job, spec, each) for each in spec["containers"]]
    if any(ssh.is_root(spec, each) for each in spec["containers"]):
        items = [{"key": key, "path": f"{_FOLDER}/{path}"} for key, path in _PATHS]
        _add_volume(spec, names.secret(job), {"secretName": names.secret(job), "items": items, "defaultMode": 0o600})


def add_keys_for_others(job: Job[ET], spec: Raw) -> None:
    """To all containers of a launcher that do not run as root; the first one is the launcher."""
    others = [each for each in spec["containers"] if not ssh.is_root(spec, each)]
    if not others:
        return
    spec["containers"] = [_with_keys_for_others(each) if each in others else each for each in spec["containers"]]
    items = [{"key": key, "path": path} for key, path in _PATHS]
    mode = 0o440 if "fsGroup" in (spec.get("securityContext") or {}) else 0o444
    _add_volume(spec, KEYS_VOLUME, {"secretName": names.secret(job), "items": items, "defaultMode": mode})


def _add_volume(spec: Raw, name: str, secret: Raw) -> None:
    spec["volumes"] = [*(spec.get("volumes") or ()), {"name": name, "secret": secret}]


def _with_keys(job: Job[ET], spec: Raw, container: Raw) -> Raw:
    if not ssh.is_root(spec, container):
        return container
    return _mounting(container, {"name": names.secret(job), "mountPath": SSH_AUTH_MOUNT_PATH, "subPath": _FOLDER})


def _with_keys_for_others(container: Raw) -> Raw:
    """A configuration that the user mounts is kept."""
    keys, paths = {"name": KEYS_VOLUME, "mountPath": KEYS}, {each["mountPath"] for each in _mounts(container)}
    client_ = {"name": CONFIG_VOLUME, "mountPath": _MACHINE_WIDE, "subPath": CLIENT}
    return _mounting(container, keys, *([] if _MACHINE_WIDE in paths else [client_]))


def _mounting(container: Raw, *mounts: Raw) -> Raw:
    return {**container, "volumeMounts": [*_mounts(container), *mounts]}


def _mounts(container: Raw) -> list[Raw]:
    return list(container.get("volumeMounts") or ())
