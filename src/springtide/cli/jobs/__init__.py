# SPDX-License-Identifier: Apache-2.0
"""What commands do with jobs, shared by `tide` and `arena`: requests to the cluster, without options and output."""
