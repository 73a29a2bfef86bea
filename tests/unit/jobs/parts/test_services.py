# SPDX-License-Identifier: Apache-2.0
"""Services without an address of their own."""

from __future__ import annotations

from tests.unit.jobs.builders import a_toy

from springtide.jobs.parts import services


def test_a_service_names_pods_before_they_are_ready() -> None:
    wanted = services.headless(a_toy().observe().job, "toy-master-0", {"role": "master"}, {"app": "toy"})
    assert wanted.manifest["spec"] == {
        "clusterIP": "None",
        "selector": {"role": "master"},
        "publishNotReadyAddresses": True,
    }
    assert wanted.manifest["metadata"]["labels"]["app"] == "toy"
    assert (wanted.kept, wanted.whole) == (("spec",), ("spec.selector",))


def test_ports_are_there_where_a_kind_names_them() -> None:
    port = {"name": "rendezvous", "port": 23456}
    wanted = services.headless(a_toy().observe().job, "toy-master-0", {}, ports=[port])
    assert wanted.manifest["spec"]["ports"] == [port]
