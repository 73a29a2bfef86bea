# SPDX-License-Identifier: Apache-2.0
"""Parts of manifests that types of jobs share, by subject."""
