# SPDX-License-Identifier: Apache-2.0
"""`tide env` and presets."""
