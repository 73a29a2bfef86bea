# SPDX-License-Identifier: Apache-2.0
"""How ranks exchange bytes: implementations of `springtide.elastic.groups.Group`.

    connections       data connections among ranks, made while the old group still trains
    ring, flow        collectives over a ring of them, and the loop that moves the bytes
    mpi               collectives over mpi4py, for ranks that mpirun has started

Nothing here knows what is exchanged.
"""
