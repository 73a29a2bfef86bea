# SPDX-License-Identifier: Apache-2.0
"""Jobs: their pods, their endings and their cleaning up."""
