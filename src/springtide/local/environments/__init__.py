# SPDX-License-Identifier: Apache-2.0
"""Images become environments: Python environments and files that stand in for what an image would bring.

environment   what one is, and the one that runs `tide` itself
patterns      pure: which pattern fits an image best
shelf         the environments of this user on disk: found, listed, removed
presets       environments for well-known images: a table
operators     what stands in for training operators whose manifests people apply
making        a new one: nothing shows before it is complete
tools         virtual environments and packages: uv, or the standard library and pip
bundle        what of Springtide is copied into every environment, and the programs of presets
pip_settings  pip's index, proxy and certificates as variables for uv
words         what to tell somebody whose image or command is not there
"""
