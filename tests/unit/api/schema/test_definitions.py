# SPDX-License-Identifier: Apache-2.0
"""The CRDs in `deploy/crds` are what the kinds say, and hold what Kubernetes asks of a CRD."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from springtide.api.kinds import trainingjob
from springtide.api.kinds.mpijob import RESOURCE
from springtide.api.kinds.registry import DEFINED
from springtide.api.schema.definitions import definition

ROOT = Path(__file__).parents[4]
APPLY_LIMIT = 256 * 1024


def schemas(resource: Any = RESOURCE) -> dict[str, Any]:
    return {each["name"]: each["schema"]["openAPIV3Schema"] for each in definition(resource)["spec"]["versions"]}


def nodes(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    yield path, schema
    for name, below in schema.get("properties", {}).items():
        yield from nodes(below, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from nodes(schema[name], f"{path}[]")


@pytest.mark.parametrize("resource", DEFINED, ids=lambda resource: resource.kind)
def test_the_file_is_what_the_kind_says(resource: Any) -> None:
    path = ROOT / f"deploy/crds/{resource.group}_{resource.plural}.yaml"
    assert yaml.safe_load(path.read_text()) == definition(resource), "run `python hack/generate_crds.py`"


@pytest.mark.parametrize("resource", DEFINED, ids=lambda resource: resource.kind)
def test_a_crd_is_small_enough_for_kubectl_apply(resource: Any) -> None:
    assert len(json.dumps(definition(resource))) < APPLY_LIMIT


def test_versions_differ_in_how_a_job_is_attached_and_in_nothing_else() -> None:
    v1, v2beta1 = schemas().values()
    defaults = [
        schema["properties"]["spec"]["properties"]["launcherAttachMode"].pop("default") for schema in (v1, v2beta1)
    ]
    assert defaults == ["kubexec", "ssh"]
    assert v1 == v2beta1


def test_a_job_can_be_scaled_and_listed() -> None:
    for version in definition(RESOURCE)["spec"]["versions"]:
        assert version["subresources"] == {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.mpiReplicaSpecs.Worker.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        }
        columns = [(column["name"], column["jsonPath"]) for column in version["additionalPrinterColumns"]]
        assert columns == [
            ("State", ".status.state"),
            ("Workers", ".status.workers"),
            ("Min", ".status.minReplicas"),
            ("Max", ".status.maxReplicas"),
            ("Age", ".metadata.creationTimestamp"),
            ("Step", ".status.progress.step"),
            ("Loss", ".status.progress.loss"),
            ("Ranks", ".status.progress.ranks"),
        ]
        wide = [column["name"] for column in version["additionalPrinterColumns"] if column.get("priority")]
        assert wide == ["Step", "Loss", "Ranks"]


def test_scalers_show_the_condition_that_was_set_last() -> None:
    for scaler in trainingjob.RESOURCE.scalers:
        (version,) = definition(scaler)["spec"]["versions"]
        columns = [(column["name"], column.get("priority", 0)) for column in version["additionalPrinterColumns"]]
        assert columns == [("Phase", 0), ("Age", 0), ("Job", 1), ("From", 1), ("To", 1)]
        assert version["additionalPrinterColumns"][0]["jsonPath"] == ".status.conditions[-1:].type"
        assert version["subresources"] == {"status": {}}


@pytest.mark.parametrize("resource", [trainingjob.RESOURCE, *trainingjob.RESOURCE.scalers], ids=lambda each: each.kind)
def test_conditions_whose_order_counts_are_no_map(resource: Any) -> None:
    status = schemas(resource)["v1alpha1"]["properties"]["status"]["properties"]
    assert not [key for key in status["conditions"] if key.startswith("x-kubernetes-list")]


def test_paths_of_columns_and_scale_are_fields_there_are() -> None:
    fields = {path for path, _ in nodes(schemas()["v1"])} | {".metadata.creationTimestamp"}
    version = definition(RESOURCE)["spec"]["versions"][0]
    used = [column["jsonPath"] for column in version["additionalPrinterColumns"]]
    assert {*used, *version["subresources"]["scale"].values()} <= fields


@pytest.mark.parametrize("resource", DEFINED, ids=lambda resource: resource.kind)
def test_kubectl_explain_has_a_text_for_every_field(resource: Any) -> None:
    for version, schema in schemas(resource).items():
        fields = [(path, node) for path, node in nodes(schema) if not path.endswith("[]")]
        fields = [(path, node) for path, node in fields if path != ".metadata"]  # the API server has that one
        assert [f"{version}{path}" for path, node in fields if not node.get("description")] == []
        for path, node in fields:
            assert node["description"].endswith("."), f"{version}{path}: {node['description']}"


def test_every_field_has_a_type_or_takes_both() -> None:
    for path, schema in nodes(schemas()["v1"]):
        assert schema.get("type") or schema.get("x-kubernetes-int-or-string"), path


def test_templates_keep_what_nobody_knows() -> None:
    kept = {path for path, schema in nodes(schemas()["v1"]) if schema.get("x-kubernetes-preserve-unknown-fields")}
    below = (".template", ".template.metadata", ".template.spec", ".template.spec.containers[]")
    for role in ("Launcher", "Worker"):
        assert {f".spec.mpiReplicaSpecs.{role}{part}" for part in below} <= kept


def test_a_kind_without_scale_and_short_names_has_none() -> None:
    plain = definition(replace(RESOURCE, scale=None, short_names=()))
    assert "shortNames" not in plain["spec"]["names"]
    assert plain["spec"]["versions"][0]["subresources"] == {"status": {}}


@pytest.fixture
def generator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`hack/generate_crds.py`, writing elsewhere."""
    spec = importlib.util.spec_from_file_location("generate_crds", ROOT / "hack/generate_crds.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "OUT", tmp_path / "deploy/crds")
    return module


def test_the_generator_writes_what_is_checked_in_and_finds_what_was_changed(
    generator: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert generator.main(check=True) == 1
    assert generator.main(check=False) == 0
    assert generator.main(check=True) == 0
    name = "kubeflow.org_mpijobs.yaml"
    assert (generator.OUT / name).read_bytes() == (ROOT / "deploy/crds" / name).read_bytes()
    (generator.OUT / name).write_text("changed")
    (generator.OUT / "of_yesterday.yaml").write_text("")
    capsys.readouterr()
    assert generator.main(check=True) == 1
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        f"deploy/crds/{name}",
        "deploy/crds/of_yesterday.yaml",
    ]
    assert generator.main(check=False) == 0
    names = {path.name for path in (ROOT / "deploy/crds").iterdir()}
    assert {path.name for path in generator.OUT.iterdir()} == names
