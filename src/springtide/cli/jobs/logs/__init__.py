# SPDX-License-Identifier: Apache-2.0
"""Logs of jobs, and commands in their pods."""
