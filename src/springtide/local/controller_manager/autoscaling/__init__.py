# SPDX-License-Identifier: Apache-2.0
"""HorizontalPodAutoscalers, and the `scale` subresource of any resource."""
