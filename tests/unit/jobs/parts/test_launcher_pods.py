# SPDX-License-Identifier: Apache-2.0
"""Parts of a launcher's pod that all kinds have."""

from __future__ import annotations

from typing import Any

import pytest

from springtide.jobs.observed import Settings
from springtide.jobs.parts import launcher_pods


def test_lists_are_read_and_scripts_are_run_by_every_user() -> None:
    volume = launcher_pods.config_volume("files", "pi-config", ("hostfile", "kubexec.sh"), {"hostfile": "hosts"})
    assert volume == {
        "name": "files",
        "configMap": {
            "name": "pi-config",
            "items": [
                {"key": "hostfile", "path": "hosts", "mode": 0o444},
                {"key": "kubexec.sh", "path": "kubexec.sh", "mode": 0o555},
            ],
        },
    }


def test_a_launcher_waits_in_its_own_image() -> None:
    waits = launcher_pods.waiting("waits", "files", {"image": "pi"})
    assert (waits["name"], waits["image"]) == ("waits", "pi")
    assert waits["volumeMounts"] == [{"name": "files", "mountPath": "/etc/mpi"}]
    assert waits["command"][-1] == 'until /etc/mpi/hosts_given.sh "$POD_UID"; do sleep 1; done'


@pytest.mark.parametrize(("image", "added"), [("kubectl:1", ["bring"]), ("", [])])
def test_kubectl_is_delivered_where_an_image_brings_it(image: str, added: list[str]) -> None:
    spec: dict[str, Any] = {"containers": [{}]}
    launcher_pods.deliver_kubectl(spec, "bring", "kube", Settings(kubectl_image=image))
    assert [each["name"] for each in spec.get("initContainers", ())] == added
    assert [each["mountPath"] for each in spec["containers"][0].get("volumeMounts", ())] == ["/opt/kube"] * len(added)
