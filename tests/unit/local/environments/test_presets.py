# SPDX-License-Identifier: Apache-2.0
"""The table of presets: every row can be used, and the images of the users' documents are covered."""

from __future__ import annotations

import posixpath
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests import documents

from springtide.api.operators import OPERATORS
from springtide.local.environments import operators, patterns, presets
from springtide.local.environments.environment import OWN_IMAGES
from springtide.local.environments.making import Recipe
from springtide.local.environments.presets import Preset

TABLE = presets.table()

DOCUMENTS = {
    "horovod/horovod:0.20.0-tf2.3.0-torch1.6.0-mxnet1.5.0-py3.7-cpu": "horovod",
    "registry.cn-hangzhou.aliyuncs.com/ai-samples/horovod:0.20.0-tf2.3.0-torch1.6.0-py3.7-cuda10.1": "horovod",
    "ccr.ccs.tencentyun.com/ti_containers/ti-tensorflow:2.4.0-gpu-cu113-py3": "horovod",
    "docker.io/kubeflow/mpi-horovod-mnist": "horovod",
    "mpioperator/tensorflow-benchmarks:latest": "tensorflow-benchmarks",
    "mai.daocloud.io/docker.io/mpioperator/tensorflow-benchmarks:latest": "tensorflow-benchmarks",
    "release.daocloud.io/baize/baize-notebook:v0.5.0": "mpi",
    "baize-notebook": "mpi",
}


@pytest.mark.parametrize("image", DOCUMENTS)
def test_an_image_of_the_documents_has_a_preset(image: str) -> None:
    found = presets.for_image(image)
    assert found is not None
    assert found.name == DOCUMENTS[image]


@pytest.mark.parametrize("image", documents.IMAGES)
def test_an_image_of_their_manifests_has_a_preset(image: str) -> None:
    assert presets.for_image(image) is not None


def test_programs_that_their_manifests_name_are_in_the_presets() -> None:
    """In a command, also one of a shell, or in the entrypoint where a container has none."""
    for container in documents.CONTAINERS:
        preset = presets.for_image(container["image"])
        assert preset is not None
        words = [*(container.get("command") or preset.entrypoint), *(container.get("args") or ())]
        programs = [part for word in words for part in word.split() if part.endswith(".py")]
        assert [program for program in programs if posixpath.join(preset.workdir, program) not in preset.programs] == []
        assert programs or preset.horovod, f"{container['name']} runs nothing"


@pytest.mark.parametrize(
    ("image", "name", "program"),
    [
        ("kubedl/tf-mnist-with-summaries:1.0", "tensorflow", "/var/tf_mnist/mnist_with_summaries.py"),
        ("swr.cn-north-4.myhuaweicloud.com/honor-bigdata-dev/distributed_worker:1.0", "tensorflow", ""),
        ("swr.cn-north-4.myhuaweicloud.com/honor-bigdata/pytorch-dist-mnist-test:1.0", "pytorch", ""),
        ("swr.cn-north-4.myhuaweicloud.com/honor-bigdata/pytorch-dist-mnist-test:mpi", "pytorch", ""),
    ],
)
def test_a_framework_has_its_own_preset(image: str, name: str, program: str) -> None:
    found = presets.for_image(image)
    assert found is not None
    assert found.name == name
    assert (program or found.entrypoint[-1]) in found.programs


@pytest.mark.parametrize("image", ["python:3.12", "me/train:1", "horovod/horovod-examples:1", "mpi/openmpi:4"])
def test_another_image_has_none(image: str) -> None:
    assert presets.for_image(image) is None


@pytest.mark.parametrize("preset", TABLE.values(), ids=list(TABLE))
def test_a_row_can_be_used(preset: Preset) -> None:
    assert preset.images
    assert preset.requirements
    assert preset.description
    assert any("\u4e00" <= letter <= "\u9fff" for letter in preset.description_zh) or "、" in preset.description_zh
    assert 0 < preset.packages < 100
    assert preset.megabytes > 0
    assert preset.seconds > 0
    assert not preset.workdir or preset.workdir.startswith("/")
    for path, module in preset.programs.items():
        assert path.startswith("/")
        assert ".." not in path
        assert not path.startswith("/usr/")
        assert find_spec(f"springtide.stand_ins.{module}") is not None
    for pattern in preset.images:
        assert patterns.fits(pattern, pattern.replace("*", "example.com"))
    assert Recipe.of(preset).is_preset_alone
    assert bool(preset.linked) <= bool(preset.alone)
    assert all("==" in each or "~=" in each for each in preset.alone), "what it requires is listed for one version"


@pytest.mark.parametrize("folder", [".", "zh"])
def test_the_pages_list_every_preset_with_its_size(folder: str) -> None:
    page = (Path(__file__).parents[4] / "docs" / folder / "pods.md").read_text()
    rows = [line.split(" | ") for line in page.splitlines() if re.match(r"\| `.* [MG]B", line)]
    sizes = {
        name: size
        for names, column, *_ in rows
        for name, size in zip(re.findall("`([^`]+)`", names), re.split(", |、", column), strict=True)
    }
    assert sizes == {
        name: f"{preset.megabytes} MB" if preset.megabytes < 1000 else f"{preset.megabytes // 1000} GB"
        for name, preset in TABLE.items()
    }


def test_a_preset_that_extends_another_is_found_by_name_alone() -> None:
    heavy = TABLE["horovod-tensorflow"]
    assert heavy.extends == "horovod"
    assert (heavy.images, heavy.programs, heavy.horovod) == (TABLE["horovod"].images, TABLE["horovod"].programs, True)
    assert set(TABLE["horovod"].requirements) < set(heavy.requirements)


def test_no_two_tables_claim_an_image() -> None:
    claimed = [
        *OWN_IMAGES,
        *(pattern for preset in TABLE.values() if not preset.extends for pattern in preset.images),
        *(pattern for operator in OPERATORS for pattern in operator.images),
    ]
    assert len(claimed) == len(set(claimed))


ROW = '[x]\ndescription = "d"\ndescription_zh = "d"\nrequirements = []\npackages = 1\nmegabytes = 1\nseconds = '


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ('[x]\ndescription = "d"', "preset 'x': Object missing required field `description_zh`"),
        (f'{ROW}"1"', r"preset 'x': Expected `int`, got `str` - at `\$.seconds`"),
        (f"{ROW}1\nimage = []", "preset 'x': Object contains unknown field `image`"),
    ],
)
def test_a_row_that_is_none_is_refused(row: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        presets.read(row)


@pytest.mark.parametrize(
    ("image", "operator"),
    [
        ("mpioperator/mpi-operator:latest", "mpi-operator"),
        ("ccr.ccs.tencentyun.com/kubeflow-oteam/mpi-operator:latest", "mpi-operator"),
        ("gcr.azk8s.cn/kubeflow-images-public/tf_operator:v0.6.0.rc0", "tf-operator"),
        ("public.ecr.aws/j1r0q0g6/training/tf-operator", "tf-operator"),
        ("gcr.io/kubeflow-images-public/pytorch-operator:v0.7.0", "pytorch-operator"),
        ("kubeflow/training-operator:v1-04f9f13", "training-operator"),
        ("registry.cn-zhangjiakou.aliyuncs.com/kube-ai/et-operator:latest", "et-operator"),
    ],
)
def test_an_operator_is_known_by_its_image(image: str, operator: str) -> None:
    found = operators.for_image(image)
    assert found is not None
    assert found.name == operator
    assert presets.for_image(image) is None


def test_another_operator_is_none() -> None:
    assert operators.for_image("example/my-operator:1") is None
