# SPDX-License-Identifier: Apache-2.0
"""From a Pod object to what its shim runs: sandbox, mounts, files in /etc, programs, logs."""
