# SPDX-License-Identifier: Apache-2.0
"""MPIJob: a launcher that starts ranks on its workers, through the API server or over SSH.

`adapter` answers the engine's questions; `pods` are the pods, `names` what all is called, `variables` what MPI
implementations read, `advice` what helps against errors that are known.
"""
