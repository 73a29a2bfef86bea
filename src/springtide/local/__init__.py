# SPDX-License-Identifier: Apache-2.0
"""The embedded cluster. It meets the rest of Springtide only over the Kubernetes API."""
