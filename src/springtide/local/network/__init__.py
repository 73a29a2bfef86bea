# SPDX-License-Identifier: Apache-2.0
"""The pod network: netd with its bridge, DNS and service proxies, and the service table it is sent."""
