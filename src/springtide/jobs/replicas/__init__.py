# SPDX-License-Identifier: Apache-2.0
"""Which replicas a job is to have: the stages of a worker, resizing, replacing, moving off nodes."""
