# SPDX-License-Identifier: Apache-2.0
"""A pod's volumes: creating them on this machine, keeping them up to date and removing them.

setup       all volumes of a pod, with kubelet's errors
payloads    pure: configMap, secret, downwardAPI and projected sources → files
atomic      files → a directory whose contents change all at once
empty_dirs, host_paths, claims
            directories: the pod's own, the host's, and those of a PersistentVolumeClaim
ownership   fsGroup, where the agent is root
subpaths    a part of a volume, confined to the volume
"""
