# SPDX-License-Identifier: Apache-2.0
"""TrainingJob: a launcher that starts ranks on its workers over SSH, or through the API server; scalers resize it.

`adapter` implements the interface to the engine, `entry` describes the kind to the operator; `pods` builds the pods,
`names` names and labels, `files` the host list, `ssh_access` the keys.
"""
