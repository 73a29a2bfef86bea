# SPDX-License-Identifier: Apache-2.0
"""Running pods on this machine: one shim per pod, the contract between agent and shim, and probing the kernel's
isolation."""
