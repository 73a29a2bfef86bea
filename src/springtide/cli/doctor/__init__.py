# SPDX-License-Identifier: Apache-2.0
"""`tide doctor`: checks of the machine."""
