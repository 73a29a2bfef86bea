# SPDX-License-Identifier: Apache-2.0
"""`tide doctor`: what a machine must have."""
