# SPDX-License-Identifier: Apache-2.0
"""An image's files and working directory, brought by an environment: manifests run without a word changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.programs.conftest import Start
from tests.programs.world import Cluster

pytestmark = pytest.mark.timeout(120)

POD = """
apiVersion: v1
kind: Pod
metadata: {name: $NAME}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  initContainers:
  - {name: before, image: $IMAGE, command: [pwd]}
  containers:
  - {name: main, image: $IMAGE, command: [sh, -c, "$SCRIPT"]}
"""


@pytest.fixture(scope="module")
def cluster(user: str, started: Start) -> Cluster:
    cluster = started(user=user)
    programs = cluster.tide.home / "programs" / "elastic"
    programs.mkdir(parents=True)
    (programs / "train.py").write_text("import os; print('trained in', os.getcwd())\n")
    made = cluster.tide.run(
        *("env", "create", "examples", "--image", "team/trainer:*", "--image", "*/horovod"),
        *("--files", "./programs:/examples", "--workdir", "/examples/elastic"),
    )
    assert made.returncode == 0, made
    return cluster


def run(cluster: Cluster, name: str, image: str, script: str) -> None:
    text = POD.replace("$NAME", name).replace("$IMAGE", image).replace("$SCRIPT", script)
    cluster.kubectl("apply", "-f", "-", stdin=text)


@pytest.mark.parametrize(
    ("name", "image"),
    [
        ("tag", "team/trainer:1"),
        ("digest", f"docker.io/team/trainer:2@sha256:{'0' * 64}"),
        ("any-tag", "own/horovod:0.28"),
    ],
)
def test_programs_are_where_the_image_has_them(cluster: Cluster, name: str, image: str) -> None:
    run(cluster, name, image, "python3 train.py; python3 /examples/elastic/train.py")
    cluster.until_succeeded(name)
    assert cluster.logs(name) == "trained in /examples/elastic\n" * 2
    assert cluster.kubectl("logs", name, "-c", "before") == "/examples/elastic\n"


def test_commands_begin_in_the_same_directory(cluster: Cluster) -> None:
    run(cluster, "waits", "team/trainer:1", "sleep 60")
    cluster.until(lambda: cluster.phase("waits") == "Running", "pod waits runs")
    assert cluster.kubectl("exec", "waits", "--", "sh", "-c", "pwd; ls") == "/examples/elastic\ntrain.py\n"


def test_other_images_have_none_of_it(cluster: Cluster) -> None:
    run(cluster, "other", "team/other:1", "pwd; test ! -e /examples")
    cluster.until_succeeded("other")
    assert cluster.logs("other") == "/\n"


def test_what_was_made_is_shown(cluster: Cluster) -> None:
    shown = cluster.tide.run("env", "show", "examples").stdout
    place: Path = cluster.tide.home / "programs"
    assert f"{place} at /examples" in shown
    assert "/examples/elastic" in shown
