# SPDX-License-Identifier: Apache-2.0
"""Selection and ownership of objects: selectors, labels, controller references."""
