# SPDX-License-Identifier: Apache-2.0
"""The forms of a launcher: a pod that the engine tries again, a batch Job that tries its pods again, or none.

`form` says what the engine asks of each, and is the answer of a kind without a launcher.
"""
