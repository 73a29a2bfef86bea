# SPDX-License-Identifier: Apache-2.0
"""Which replicas a job has: the stages of a worker, resizing, replacing, moving off nodes."""
