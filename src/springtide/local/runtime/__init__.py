# SPDX-License-Identifier: Apache-2.0
"""The body of a pod: a shim per pod, what it is told and what it says, and what this machine allows."""
