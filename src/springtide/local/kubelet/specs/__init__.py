# SPDX-License-Identifier: Apache-2.0
"""Reading pod specs: containers, variables, users, fields of the pod itself."""
