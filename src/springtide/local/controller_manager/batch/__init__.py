# SPDX-License-Identifier: Apache-2.0
"""Jobs: their pods, their completion and failure, and their cleanup."""
