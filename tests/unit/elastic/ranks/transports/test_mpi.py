# SPDX-License-Identifier: Apache-2.0
"""Which rank a process is by what mpirun tells it; the group itself is tested with a real mpirun, by `make e2e`."""

from __future__ import annotations

import sys

import pytest

from springtide.elastic.horovod import world
from springtide.elastic.ranks import context
from springtide.elastic.ranks.transports import mpi

OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
}


@pytest.mark.parametrize(
    ("environment", "world"),
    [
        pytest.param(OPEN_MPI, mpi.World(3, 4, 1, 2), id="Open MPI"),
        pytest.param(
            {"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "1"},
            mpi.World(1, 2, 0, 1),
            id="MPICH",
        ),
        pytest.param({"PMI_RANK": "1", "PMI_SIZE": "2"}, mpi.World(1, 2), id="no local numbers"),
        pytest.param({}, None, id="no mpirun"),
        pytest.param(OPEN_MPI | {"OMPI_COMM_WORLD_SIZE": "1"}, None, id="one rank"),
        pytest.param(OPEN_MPI | {"OMPI_COMM_WORLD_RANK": "x"}, None, id="no number"),
        pytest.param(OPEN_MPI | {mpi.JOINED: "1"}, None, id="started by a rank"),
    ],
)
def test_which_rank_a_process_is(environment: dict[str, str], world: mpi.World | None) -> None:
    assert mpi.found(environment) == world


@pytest.fixture
def under_mpirun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "_current", None)
    for name, value in OPEN_MPI.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("under_mpirun")
def test_a_rank_knows_its_numbers_before_it_joins() -> None:
    assert (world.rank(), world.size(), world.local_rank(), world.local_size()) == (3, 4, 1, 2)
    assert (world.mpi_enabled(), world.gloo_enabled()) == (True, False)
    assert "mpi4py" not in sys.modules


@pytest.mark.usefixtures("under_mpirun")
def test_a_rank_without_mpi4py_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(mpi.NoMpiError, match="mpi4py is needed to join the others"):
        world.init()
