# SPDX-License-Identifier: Apache-2.0
"""HorizontalPodAutoscalers, and the scale of anything that has one."""
