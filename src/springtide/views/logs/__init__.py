# SPDX-License-Identifier: Apache-2.0
"""What jobs print: whose lines, in which order, and the training that they tell of."""
