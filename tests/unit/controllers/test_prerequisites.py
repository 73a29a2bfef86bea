# SPDX-License-Identifier: Apache-2.0
"""What an operator says of a cluster that lacks something."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

import pytest
from tests.unit.jobs import toy
from tests.unit.kube.fake_api import answer, status

from springtide.api.kinds.scalers import SCALE_IN, SCALE_OUT
from springtide.controllers import prerequisites
from springtide.controllers.operator import chosen
from springtide.controllers.prerequisites import MissingError
from springtide.jobs.registry import SERVED
from springtide.kube.client import Client
from springtide.kube.request import Request, Response
from springtide.kube.resources import Resource


class Cluster:
    """Defines these resources, of which the operator may not list some."""

    def __init__(self, *plurals: str, forbidden: Sequence[str] = ()) -> None:
        self._plurals, self._forbidden = plurals, forbidden

    async def send(self, request: Request) -> Response:
        *_, last = request.path.split("/")
        if last in self._forbidden:
            return status(403, "Forbidden", f"cannot list {last}")
        if last in ("v1", "v1alpha1"):
            return answer({"resources": [{"name": name} for name in self._plurals]})
        return answer({"metadata": {}, "items": []}, 404 if last == "v2beta1" else 200)

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        raise AssertionError(request)
        yield b""

    async def close(self) -> None:
        pass


async def found(cluster: Cluster, *kinds: str) -> list[str]:
    there = await prerequisites.defined(Client(cluster), chosen(kinds), named=bool(kinds))
    return [resource.plural for _, resource in there]


async def test_all_that_the_cluster_defines_are_served(caplog: pytest.LogCaptureFixture) -> None:
    kinds = ["mpijobs", "pytorchjobs", "tfjobs", "trainingjobs"]
    assert await found(Cluster(*kinds, "scaleouts", "scaleins")) == kinds
    assert caplog.text == ""


async def test_of_others_it_is_said_how_to_get_them_and_how_to_do_without(caplog: pytest.LogCaptureFixture) -> None:
    there = ["mpijobs", "tfjobs", "trainingjobs"]
    assert await found(Cluster(*there, "scaleouts", "scaleins")) == there
    assert [record.getMessage() for record in caplog.records] == [
        "PyTorchJobs are not served, because the cluster does not define them. Apply the definition and restart the "
        "operator: kubectl apply -f deploy/crds/kubeflow.org_pytorchjobs.yaml. "
        "Without them: --kinds MPIJob,TFJob,TrainingJob"
    ]


async def test_one_that_was_named_and_is_missing_is_an_error() -> None:
    with pytest.raises(MissingError) as missing:
        await found(Cluster("mpijobs"), "MPIJob", "TFJob")
    assert str(missing.value) == (
        "the cluster does not define TFJob of kubeflow.org\n"
        "Apply the definitions first: kubectl apply -f deploy/crds/kubeflow.org_tfjobs.yaml, or leave it out of --kinds"
    )


async def test_without_any_kind_there_is_nothing_to_do() -> None:
    with pytest.raises(MissingError) as missing:
        await found(Cluster())
    first, second = str(missing.value).splitlines()
    assert first == (
        "the cluster does not define MPIJob of kubeflow.org, PyTorchJob of kubeflow.org, TFJob of kubeflow.org, "
        "TrainingJob of kai.alibabacloud.com, ScaleOut of kai.alibabacloud.com, ScaleIn of kai.alibabacloud.com"
    )
    kubeflow, ours = (f"-f deploy/crds/{group}_" for group in ("kubeflow.org", "kai.alibabacloud.com"))
    assert second.endswith(
        f"kubectl apply {kubeflow}mpijobs.yaml {kubeflow}pytorchjobs.yaml {kubeflow}tfjobs.yaml "
        f"{ours}trainingjobs.yaml {ours}scaleouts.yaml {ours}scaleins.yaml"
    )


SCALED = replace(toy.SERVED, definition=replace(toy.RESOURCE, scalers=(SCALE_OUT, SCALE_IN)))
"""A kind of jobs that are resized by scalers."""
OTHER = chosen(["TFJob"])[0]


async def test_jobs_are_served_only_where_their_scalers_are_defined(caplog: pytest.LogCaptureFixture) -> None:
    kinds = [SCALED, OTHER]
    all_of_them = Client(Cluster("toyjobs", "scaleouts", "scaleins", "tfjobs"))
    assert [kind for kind, _ in await prerequisites.defined(all_of_them, kinds, named=True)] == kinds
    without_one = Client(Cluster("toyjobs", "scaleouts", "tfjobs"))
    assert [kind for kind, _ in await prerequisites.defined(without_one, kinds, named=False)] == [OTHER]
    crds = "deploy/crds/kai.alibabacloud.com_{}.yaml"
    assert [record.getMessage() for record in caplog.records] == [
        "ToyJobs are not served, because the cluster does not define ScaleIn. Apply the definition and restart the "
        f"operator: kubectl apply -f {crds.format('scaleins')}. Without them: --kinds TFJob"
    ]
    with pytest.raises(MissingError) as missing:
        await prerequisites.defined(Client(Cluster("toyjobs", "tfjobs")), kinds, named=True)
    assert str(missing.value) == (
        "the cluster does not define ScaleOut of kai.alibabacloud.com, ScaleIn of kai.alibabacloud.com\n"
        f"Apply the definitions first: kubectl apply -f {crds.format('scaleouts')} -f {crds.format('scaleins')}, "
        "or leave it out of --kinds"
    )


async def test_scalers_that_may_not_be_read_are_an_error() -> None:
    resource = Resource(toy.RESOURCE.group, "v1", "toyjobs", "ToyJob")
    await prerequisites.require_rights(Client(Cluster()), SCALED, resource, "")
    with pytest.raises(MissingError, match="lacks rights for ToyJobs: cannot list scaleins"):
        await prerequisites.require_rights(Client(Cluster(forbidden=("scaleins",))), SCALED, resource, "")


@pytest.mark.parametrize("lacking", ["pytorchjobs", "horizontalpodautoscalers"])
async def test_jobs_and_objects_that_may_not_be_read_are_an_error(lacking: str) -> None:
    kind = next(each for each in SERVED if each.kind == "PyTorchJob")
    resource = Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob")
    await prerequisites.require_rights(Client(Cluster()), kind, resource, "")
    with pytest.raises(MissingError) as missing:
        await prerequisites.require_rights(Client(Cluster(forbidden=(lacking,))), kind, resource, "")
    assert str(missing.value) == (
        f"the operator lacks rights for PyTorchJobs: cannot list {lacking}\n"
        "Give its user the rights that springtide.api.rights lists, or serve other kinds alone: --kinds NAME"
    )
