# SPDX-License-Identifier: Apache-2.0
"""The TensorBoard beside a job."""

from __future__ import annotations

from typing import Final

TRANSLATIONS: Final = {
    "TensorBoard has no pod yet.": "TensorBoard 还没有 Pod。",
    "TensorBoard waits: {why}": "TensorBoard 在等待：{why}",
    "TensorBoard waits for a node: {why}": "TensorBoard 在等待节点：{why}",
    "TensorBoard starts.": "TensorBoard 正在启动。",
}
