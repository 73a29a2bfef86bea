# SPDX-License-Identifier: Apache-2.0
"""What stands in for images: their entrypoints, and the wait for one that is not here."""

from __future__ import annotations

import uuid

import pytest
from tests.pods.clusters import Cluster
from tests.pods.manifests import pod
from tests.pods.spaces import Space, state, waiting

from springtide.kube.resources import Obj

pytestmark = pytest.mark.any_user


@pytest.fixture
def image(embedded: Cluster) -> str:
    """A name that no environment was made for."""
    return f"example/image-{uuid.uuid4().hex[:8]}"


async def test_command_and_args_replace_what_the_image_runs(space: Space, image: str) -> None:
    """The table of Kubernetes' documentation, each row a pod."""
    space.cluster.tide(
        "env",
        "create",
        image.rpartition("/")[2],
        "--image",
        image,
        "--entrypoint",
        "printf %s| ep",
        "--cmd",
        '["foo bar"]',
    )
    rows: dict[str, tuple[Obj, str]] = {
        "neither": ({}, "ep|foo bar|"),
        "command": ({"command": ["echo"]}, "\n"),
        "args": ({"args": ["zoo", "boo"]}, "ep|zoo|boo|"),
        "both": ({"command": ["echo"], "args": ["zoo", "boo"]}, "zoo boo\n"),
    }
    await space.create(*(pod({"name": "main", "image": image, **row}, name=name) for name, (row, _) in rows.items()))
    for name, (_, printed) in rows.items():
        await space.ended(name)
        assert await space.log(name) == printed, name


async def test_a_container_whose_image_is_not_here_waits_for_it(space: Space, image: str) -> None:
    """Whatever the restart policy: nothing has failed yet."""
    await space.create(pod({"name": "main", "image": image, "args": ["no-such-program"]}))
    seen = await space.until("p", lambda seen: waiting(seen) == "ImagePullBackOff")
    name = image.rpartition("/")[2]
    advice = f"tide env create {name} --pip PACKAGE --entrypoint COMMAND --image '{image}:*'"
    assert state(seen)["waiting"]["message"].endswith(advice)
    assert (seen["status"]["phase"], seen["status"]["containerStatuses"][0]["restartCount"]) == ("Pending", 0)
    said = [message for reason, message in await space.events("p") if reason == "Failed"]
    assert any(message.startswith(f'Failed to pull image "{image}": ') and message.endswith(advice) for message in said)
    space.cluster.tide("env", "create", name, "--image", image, "--entrypoint", "echo ready for")
    seen = await space.ended()
    assert seen["status"]["phase"] == "Succeeded"
    assert await space.log() == "ready for no-such-program\n"


async def test_an_image_of_a_preset_waits_whatever_its_command_is(space: Space, embedded: Cluster) -> None:
    """Workers that only sleep must not begin in another environment than their launcher."""
    image = "registry.example.com/team/horovod:0.28.1"
    await space.create(pod({"name": "main", "image": image, "command": ["sleep", "infinity"]}))
    seen = await space.until("p", lambda seen: waiting(seen) == "ImagePullBackOff")
    assert state(seen)["waiting"]["message"].endswith(f"tide env create --for {image}")


async def test_an_operator_that_is_built_in_is_ready_and_does_nothing(space: Space, embedded: Cluster) -> None:
    probe = {"httpGet": {"path": "/healthz", "port": 8081}}
    main = {"name": "main", "image": "example.com/kube-ai/et-operator:latest", "command": ["/manager"]}
    probes = {f"{kind}Probe": probe for kind in ("startup", "liveness", "readiness")}
    await space.start(pod(main | probes, restartPolicy="Always"))
    notice = await space.event("p", "BuiltIn")
    assert "does nothing" in notice
    assert (await space.log()).strip() == notice
