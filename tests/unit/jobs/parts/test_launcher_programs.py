# SPDX-License-Identifier: Apache-2.0
"""What is known of the programs that launchers run."""

from __future__ import annotations

import pytest

from springtide.api.command_lines import Launch
from springtide.jobs.parts import launcher_programs

HOROVODRUN, TIDERUN, MPIRUN = (Launch(program) for program in ("horovodrun", "tiderun", "mpirun"))


@pytest.mark.parametrize(
    ("launch", "settles", "saves", "patient"),
    [
        (HOROVODRUN, True, False, True),
        (TIDERUN, False, True, False),
        (MPIRUN, False, False, False),
        (None, False, False, False),
    ],
    ids=["horovodrun", "tiderun", "mpirun", "unknown"],
)
def test_a_program_is_treated_as_it_needs(launch: Launch | None, settles: bool, saves: bool, patient: bool) -> None:
    assert (launcher_programs.settles(launch), launcher_programs.saves(launch)) == (settles, saves)
    assert ("HOROVOD_START_TIMEOUT" in launcher_programs.patience(launch)) == patient


@pytest.mark.parametrize(
    ("launch", "why"),
    [
        (HOROVODRUN, "horovodrun is not elastic without --min-np or --host-discovery-script"),
        (TIDERUN, "tiderun is not elastic without --min-np or --host-discovery-script"),
        (MPIRUN, "mpirun is not elastic"),
    ],
)
def test_why_a_program_is_not_elastic(launch: Launch, why: str) -> None:
    assert launcher_programs.rigid(launch) == why


def test_every_family_of_open_mpi_has_the_agent_under_the_path_that_horovod_checks() -> None:
    assert set(launcher_programs.AGENT.values()) == {"/etc/mpi/kubexec.sh"}
    assert set(launcher_programs.AGENT) == {"OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent"}


@pytest.mark.parametrize(
    ("launch", "warns"),
    [
        (HOROVODRUN, True),
        (TIDERUN, True),
        (MPIRUN, False),
        (None, False),
        (Launch("tiderun", discovers_hosts=True), False),
        (Launch("horovodrun", names_hosts=True), False),
    ],
    ids=["horovodrun", "tiderun", "mpirun has default hosts", "unknown", "by a script", "by name"],
)
def test_a_program_that_is_given_no_hosts_is_warned_of(launch: Launch | None, warns: bool) -> None:
    found = launcher_programs.lacks_hosts(launch, "/etc/edl/discover_hosts.sh")
    assert [(each.type, each.reason) for each in found] == ([("Warning", "NoHosts")] if warns else [])
    assert all("add --host-discovery-script /etc/edl/discover_hosts.sh" in each.message for each in found)
