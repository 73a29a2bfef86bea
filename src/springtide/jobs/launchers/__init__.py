# SPDX-License-Identifier: Apache-2.0
"""The forms of a launcher: a pod that the engine retries, a batch Job that retries its pods, or none.

`form` is the interface between the engine and a form, and holds the form of a kind without a launcher.
"""
