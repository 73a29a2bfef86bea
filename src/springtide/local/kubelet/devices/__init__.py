# SPDX-License-Identifier: Apache-2.0
"""GPUs of this machine, and which container gets which."""
