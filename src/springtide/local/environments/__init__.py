# SPDX-License-Identifier: Apache-2.0
"""Images become environments: Python environments and files that stand in for what an image would bring.

environment   what one is, and the one that runs `tide` itself
patterns      pure: which pattern fits an image best
shelf         the environments of this user on disk: found, listed, removed
making        a new one: nothing shows before it is complete
words         what to tell somebody whose command is not there
"""
