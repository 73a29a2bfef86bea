# SPDX-License-Identifier: Apache-2.0
"""The pods' DNS server and the cluster's names."""
