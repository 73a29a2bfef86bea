# SPDX-License-Identifier: Apache-2.0
"""MPIJob: a launcher that starts ranks on its workers, through the API server or over SSH.

`adapter` answers the engine's questions; `files` are what the launcher finds in /etc/mpi, `access` and `ssh` what lets
it reach workers, `pods` the pods themselves, `variables` what MPI implementations read.
"""
