# SPDX-License-Identifier: Apache-2.0
"""MPIJob: a launcher that starts ranks on its workers, through the API server or over SSH.

`adapter` answers the engine's questions, `entry` is all that the operator knows of the kind; `pods` are the pods,
`names` what all is called, `files` the host list, `variables` what MPI implementations read, `advice` what helps
against errors that are known.
"""
