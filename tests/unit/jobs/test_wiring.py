# SPDX-License-Identifier: Apache-2.0
"""A kind is asked for what it can do, and for nothing else."""

from __future__ import annotations

from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.builders import a_toy
from tests.unit.jobs.toy import TOY_KIND

from springtide.api.defaults.mpijob import defaulted
from springtide.jobs import wiring
from springtide.jobs.kind import NOBODY, Kind, Wanted
from springtide.jobs.kinds.mpi.adapter import MPI_KIND
from springtide.jobs.observed import Settings


def kinds(wanted: tuple[Wanted, ...]) -> list[str]:
    return [each.manifest["kind"] for each in wanted]


def test_services_come_before_secrets_and_rights_last() -> None:
    over_ssh, over_exec = defaulted(an_mpijob("v2beta1")), defaulted(an_mpijob("v1"))
    assert kinds(wiring.wanted(MPI_KIND, over_ssh, NOBODY)) == ["Service", "Secret"]
    assert kinds(wiring.wanted(MPI_KIND, over_exec, NOBODY)) == ["ServiceAccount", "Role", "RoleBinding"]


def test_a_kind_without_hosts_has_no_files() -> None:
    job = a_toy().observe().job
    assert wiring.files(TOY_KIND, job, NOBODY, Settings()) == {}
    assert wiring.wanted(TOY_KIND, job, NOBODY) == ()


def test_a_kind_has_no_ability_that_it_does_not_name() -> None:
    assert (Kind.launching, Kind.hosts, Kind.services, Kind.secrets, Kind.resizable) == (None, None, None, None, None)
