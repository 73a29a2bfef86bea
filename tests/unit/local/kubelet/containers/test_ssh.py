# SPDX-License-Identifier: Apache-2.0
"""What lets the pods of a job log in to each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from springtide.local.kubelet.containers import ssh
from springtide.local.kubelet.containers.etc_files import Account
from springtide.local.kubelet.containers.ssh import Keys

ITEMS = [
    {"key": "ssh-privatekey", "path": "id_rsa"},
    {"key": "ssh-publickey", "path": "id_rsa.pub"},
    {"key": "ssh-publickey", "path": "authorized_keys"},
]
ROOTS = Keys("/root/.ssh", "/root/.ssh/id_rsa")
THEIRS = Keys("/home/mpiuser/.ssh", "/home/mpiuser/.ssh/id_rsa")


def found(mounts: list[dict[str, Any]], secret: dict[str, Any]) -> Keys | None:
    volumes = [{"name": "keys", "secret": secret}, {"name": "other", "emptyDir": {}}]
    pod = {"spec": {"volumes": volumes, "containers": []}}
    return ssh.keys_of(pod, {"volumeMounts": mounts}, lambda name: "ssh-privatekey" if name == "ssh" else "")


@pytest.mark.parametrize(
    ("mount", "secret", "keys"),
    [
        pytest.param({}, {"secretName": "ssh", "items": ITEMS}, ROOTS, id="as an operator mounts them"),
        pytest.param({"mountPath": "/root/.ssh/"}, {"secretName": "ssh", "items": ITEMS}, ROOTS, id="a slash too many"),
        pytest.param({}, {"secretName": "ssh"}, Keys("/root/.ssh", "/root/.ssh/ssh-privatekey"), id="all of a secret"),
        pytest.param({}, {"secretName": "another"}, None, id="a secret of another type"),
        pytest.param({"name": "other"}, {"secretName": "ssh"}, None, id="keys that are not mounted"),
        pytest.param({"subPath": "id_rsa"}, {"secretName": "ssh"}, None, id="a single file"),
    ],
)
def test_keys_are_where_a_secret_for_ssh_is_mounted(
    mount: dict[str, Any], secret: dict[str, Any], keys: Keys | None
) -> None:
    assert (
        found([{"name": "other", "mountPath": "/data"}, {"name": "keys", "mountPath": "/root/.ssh"} | mount], secret)
        == keys
    )


def test_home_is_beside_the_keys_where_they_are_in_a_home() -> None:
    assert (ROOTS.home, THEIRS.home, Keys("/keys", "/keys/id").home) == ("/root", "/home/mpiuser", "")


def test_both_sides_agree() -> None:
    client, server = ssh.client(THEIRS), ssh.server(THEIRS, {"PATH": '/env/bin:/a "b"/bin', "OPAL_PREFIX": "/env"})
    assert "Port 2222\n" in client
    assert "Port 2222\n" in server
    assert 'IdentityFile "/home/mpiuser/.ssh/id_rsa"\n' in client
    assert 'AuthorizedKeysFile "/home/mpiuser/.ssh/authorized_keys"\n' in server
    assert 'SetEnv "PATH=/env/bin:/a \\"b\\"/bin" "OPAL_PREFIX=/env"\n' in server


def test_root_has_his_files_in_etc(tmp_path: Path) -> None:
    targets = {mount.target for mount in ssh.write(tmp_path, ROOTS, {"PATH": "/bin"}, Account("root", 0, 0, "/bin/sh"))}
    assert targets == {"/etc/ssh", "/etc/passwd", "/etc/shadow"}
    assert (tmp_path / "shadow").read_text() == "root:*:::::::\n"


def test_others_live_beside_their_keys(tmp_path: Path) -> None:
    own = Account("ann", 7, 8, "/bin/sh", THEIRS.home)
    mounts = {mount.target: mount for mount in ssh.write(tmp_path, THEIRS, {"PATH": "/bin"}, own)}
    assert "ann:*:7:8:ann:/home/mpiuser:/bin/sh\n" in Path(mounts["/etc/passwd"].source).read_text()
    assert Path(mounts["/etc/shadow"].source).read_text() == "root:*:::::::\nann:*:::::::\n"
    settings = mounts["/home/mpiuser/.sshd_config"]
    assert settings.read_only
    assert Path(settings.source).read_text() == ssh.server(THEIRS, {"PATH": "/bin"})
