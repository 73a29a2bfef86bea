# SPDX-License-Identifier: Apache-2.0
"""The DNS server of pods and the names it knows."""
