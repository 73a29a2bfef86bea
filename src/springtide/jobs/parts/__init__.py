# SPDX-License-Identifier: Apache-2.0
"""Building blocks shared by kinds: pod templates, Services, SSH keys, rights, host-list files, placement, gangs.

Kinds with a launcher share `launcher_pods`, `launcher_names`, `launcher_programs` (what is known of horovodrun, mpirun,
tiderun) and `launcher_advice`; those without share `named_replicas`.
"""
