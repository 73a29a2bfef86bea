# SPDX-License-Identifier: Apache-2.0
"""`tide scale`, `scaleout` and `scalein`."""
