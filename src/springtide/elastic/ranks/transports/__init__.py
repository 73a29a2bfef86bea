# SPDX-License-Identifier: Apache-2.0
"""How ranks exchange bytes: implementations of `springtide.elastic.groups.Group`.

    connections       data connections among ranks, made while the old group still trains
    ring, flow        collectives over a ring of connections, and the loop that moves the bytes
    mpi               collectives over mpi4py, for ranks started by mpirun

Transports do not interpret the data.
"""
