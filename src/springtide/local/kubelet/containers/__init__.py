# SPDX-License-Identifier: Apache-2.0
"""From a pod object to what its shim runs: sandbox, mounts, files in /etc, programs, logs."""
