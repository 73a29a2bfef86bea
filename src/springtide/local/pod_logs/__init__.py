# SPDX-License-Identifier: Apache-2.0
"""Container logs on disk: reading them, and keeping those of training pods after the pods were removed."""
