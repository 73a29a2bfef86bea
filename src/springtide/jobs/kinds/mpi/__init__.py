# SPDX-License-Identifier: Apache-2.0
"""MPIJob: a launcher that starts ranks on its workers, through the API server or over SSH.

`adapter` implements the interface to the engine, `entry` describes the kind to the operator; `pods` builds the pods,
`names` names and labels, `files` the host list, `variables` the environment of MPI implementations.
"""
