# SPDX-License-Identifier: Apache-2.0
"""The served resources: built-in ones, custom ones, their scales."""
