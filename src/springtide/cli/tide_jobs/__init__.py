# SPDX-License-Identifier: Apache-2.0
"""The commands of `tide` on jobs, one module per verb: options, and what is printed."""
