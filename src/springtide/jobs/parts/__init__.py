# SPDX-License-Identifier: Apache-2.0
"""Building blocks shared by kinds: pod templates, Services, SSH keys, rights, host-list files, placement, gangs."""
