# SPDX-License-Identifier: Apache-2.0
"""Pure data: quantities and field errors (later: the job kinds). Knows no clock and no network."""
