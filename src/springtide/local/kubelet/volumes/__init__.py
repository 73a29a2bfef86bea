# SPDX-License-Identifier: Apache-2.0
"""A pod's volumes: what stands behind each of them on this machine, made, kept up to date and removed.

setup       all volumes of a pod, in kubelet's words where one cannot be had
payloads    pure: configMap, secret, downwardAPI and projected sources → files
atomic      files → a directory whose contents change all at once
empty_dirs, host_paths, claims
            directories: the pod's own, the host's, and those behind a PersistentVolumeClaim
ownership   fsGroup, where the agent is root
subpaths    a part of a volume, without a way out of it
"""
