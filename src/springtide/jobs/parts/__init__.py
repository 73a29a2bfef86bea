# SPDX-License-Identifier: Apache-2.0
"""What kinds put jobs together from: pod templates, Services, SSH keys, rights, the files of a host list, placement."""
