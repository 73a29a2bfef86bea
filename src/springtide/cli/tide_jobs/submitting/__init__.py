# SPDX-License-Identifier: Apache-2.0
"""`tide submit` and `tide run`."""
