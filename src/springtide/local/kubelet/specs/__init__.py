# SPDX-License-Identifier: Apache-2.0
"""What a pod object asks for: containers, variables, users, fields of the pod itself."""
