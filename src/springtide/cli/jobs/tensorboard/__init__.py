# SPDX-License-Identifier: Apache-2.0
"""TensorBoards of jobs: where they are, and the processes that forward a port to them."""
