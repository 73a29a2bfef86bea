# SPDX-License-Identifier: Apache-2.0
"""`python -m springtide.cli` runs `tide`."""

from springtide.cli.entry import tide

tide()
