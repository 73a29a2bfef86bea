# SPDX-License-Identifier: Apache-2.0
"""Environments that replace images: Python environments, and files that an image would contain.

environment   the type of environments, and the one that runs `tide` itself
patterns      pure: which pattern fits an image best
shelf         the environments of this user on disk: find, list, remove
presets       environments for well-known images: a table
operators     stand-ins for training operators whose manifests users apply
making        creating an environment, invisible until it is complete
tools         virtual environments and packages: uv, or the standard library and pip
bundle        the parts of Springtide copied into every environment, and the programs of presets
pip_settings  pip's index, proxy and certificates as variables for uv
words         messages about missing images and commands
"""
