# SPDX-License-Identifier: Apache-2.0
"""Texts of what is shown: ages, tables, pages and documents."""
