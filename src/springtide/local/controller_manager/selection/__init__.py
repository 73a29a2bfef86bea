# SPDX-License-Identifier: Apache-2.0
"""Which objects belong to which: selectors, labels, controller references."""
