# SPDX-License-Identifier: Apache-2.0
"""What commands on jobs print, and how they ask and redraw."""
