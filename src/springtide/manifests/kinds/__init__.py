# SPDX-License-Identifier: Apache-2.0
"""The objects of each type of job, and of TensorBoard beside it."""
