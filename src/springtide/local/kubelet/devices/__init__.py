# SPDX-License-Identifier: Apache-2.0
"""GPUs of this machine and their allocation to containers."""
