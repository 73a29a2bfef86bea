# SPDX-License-Identifier: Apache-2.0
"""The I/O of scalers, which the engine plans with their job: what is read of them, writes to them, their scripts.

Only scalers without a job are decided on here, in `waiting`.
"""
