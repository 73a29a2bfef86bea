# SPDX-License-Identifier: Apache-2.0
"""Admission plugins, which complete or reject objects before they are written.

The API server runs a `Chain` before validation (`mutate`) and after it (`validate`). Plugins read other objects through
a `Reader` and never write any.
"""
