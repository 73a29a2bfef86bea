# SPDX-License-Identifier: Apache-2.0
"""The HTTP face of the embedded cluster: request in, answer out."""
