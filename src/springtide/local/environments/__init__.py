# SPDX-License-Identifier: Apache-2.0
"""Images become environments: Python environments and files that stand in for what an image would bring."""
