# SPDX-License-Identifier: Apache-2.0
"""The program `arena`: commands, words, tables and exit codes of Arena 0.15.5, always in English."""
