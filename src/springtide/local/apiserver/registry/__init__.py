# SPDX-License-Identifier: Apache-2.0
"""The resources that are served: built-in ones, custom ones, their scales."""
