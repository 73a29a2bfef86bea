# SPDX-License-Identifier: Apache-2.0
"""`tide node`, and the options about nodes."""
