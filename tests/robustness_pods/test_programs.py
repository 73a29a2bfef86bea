# SPDX-License-Identifier: Apache-2.0
"""Programs that cannot start, do not end, or write what nobody expects: a clear reason each, and nothing left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.pods.manifests import IMAGE, mount, pod, py, sh
from tests.pods.spaces import Space, containers, state
from tests.robustness_pods.clusters import Victim, space_on, victim

from springtide.kube.resources import Obj

EMPTY = {"name": "v", "emptyDir": {}}


@pytest.fixture(scope="module", params=["root", "user"])
def shared(request: pytest.FixtureRequest) -> Iterator[Victim]:
    """These do a cluster no harm, so that all of them can have the same."""
    with victim(request.param) as found:
        found.up()
        yield found


def plain(name: str, **fields: Any) -> Obj:
    return pod({"name": "main", "image": IMAGE, **fields}, name=name)


CANNOT_START: dict[str, tuple[dict[str, Any], str]] = {
    "missing": ({"command": ["/no/such/program"]}, "stat /no/such/program: no such file or directory"),
    "unknown": ({"command": ["no-such-program"]}, "executable file not found in $PATH"),
    "directory": ({"command": ["/usr"]}, 'exec: "/usr": permission denied'),
    "text": ({"command": ["/etc/passwd"]}, 'exec: "/etc/passwd": permission denied'),
    "nowhere": ({"command": ["true"], "workingDir": "/etc/passwd/x"}, 'working directory "/etc/passwd/x"'),
    "variable": (
        {"command": ["true"], "env": [{"name": "LONG", "value": "x" * 1_000_000}]},
        'exec: "true": argument list too long',
    ),
    "proc": ({"command": ["true"], "volumeMounts": [mount("v", "/proc")]}, "nothing can be mounted at /proc"),
    "root": ({"command": ["true"], "volumeMounts": [mount("v", "/")]}, "nothing can be mounted at /"),
}


async def test_what_cannot_start_says_why(shared: Victim) -> None:
    async with space_on(shared) as space:
        for name, (fields, _) in CANNOT_START.items():
            manifest = plain(name, **fields)
            manifest["spec"]["volumes"] = [EMPTY]
            await space.create(manifest)
        for name, (_, words) in CANNOT_START.items():
            ended = state(await space.ended(name))["terminated"]
            assert (ended["exitCode"], ended["reason"]) == (128, "StartError"), name
            assert words in ended["message"], name
            assert words in await space.event(name, "Failed")


async def test_a_megabyte_of_variables_is_none_too_many(shared: Victim) -> None:
    variables = [{"name": f"V{number}", "value": "x" * 100_000} for number in range(10)]
    async with space_on(shared) as space:
        log = await space.run(pod(sh("env | grep -c ^V", env=variables), name="variables"))
        assert log == "10\n"


async def test_a_volume_that_cannot_be_made_says_why(shared: Victim) -> None:
    path = {"path": "/etc/passwd/below", "type": "DirectoryOrCreate"}
    manifest = pod(
        sh("true", volumeMounts=[mount("h", "/h")]), name="unmade", volumes=[{"name": "h", "hostPath": path}]
    )
    async with space_on(shared) as space:
        await space.create(manifest)
        message = await space.event("unmade", "FailedMount")
        assert message.startswith('MountVolume.SetUp failed for volume "h" : /etc/passwd/below')
        await space.delete("unmade", 0)
        await space.gone("unmade")


async def test_lines_of_megabytes_are_kept(shared: Victim) -> None:
    script = "import sys\nfor n in range(3): sys.stdout.write(str(n) * 1_500_000 + '\\n')"
    async with space_on(shared) as space:
        lines = (await space.run(pod(py(script), name="long"))).splitlines()
        assert [(line[0], len(line)) for line in lines] == [(str(number), 1_500_000) for number in range(3)]


async def test_a_program_without_its_streams_runs_on(shared: Victim) -> None:
    script = "import os, time; print('bye'); os.close(1); os.close(2); time.sleep(1); os._exit(5)"
    async with space_on(shared) as space:
        assert await space.run(pod(py(script), name="silent")) == "bye\n"
        assert state(await space.ended("silent"))["terminated"]["exitCode"] == 5


async def test_what_a_program_leaves_behind_ends_with_it(shared: Victim) -> None:
    script = "(setsid sleep 5000 >/dev/null 2>&1 &); (setsid sleep 5000 &); echo done"
    async with space_on(shared) as space:
        assert await space.run(pod(sh(script), name="parent")) == "done\n"
        ended = state(await space.ended("parent"))["terminated"]
        assert (ended["exitCode"], ended["reason"]) == (0, "Completed")


async def test_pods_deleted_at_any_moment_of_their_start_go(shared: Victim) -> None:
    """Some are not scheduled yet, others are being made, in an init container, or run and do not listen."""
    deaf = "trap '' TERM; while :; do sleep 0.1; done"
    async with space_on(shared) as space:
        for number in range(9):
            name = f"brief-{number}"
            inits = [sh(deaf, "init")] if number % 3 == 0 else []
            await space.create(pod(sh(deaf), name=name, initContainers=inits, terminationGracePeriodSeconds=1))
            if number >= 6:
                await _begun(space, name)
            await space.delete(name)
        for number in range(9):
            await space.gone(f"brief-{number}")
        assert not [path for path in shared.place.pods.glob("*") if shared.shim(path.name)]


async def _begun(space: Space, name: str) -> None:
    def runs(seen: Obj) -> bool:
        return any("running" in state(seen, each) for each in ("init", *containers(seen)))

    await space.until(name, runs)
