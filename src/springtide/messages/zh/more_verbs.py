# SPDX-License-Identifier: Apache-2.0
"""Commands that delete jobs, prune them, and show volumes and users."""

from __future__ import annotations

from typing import Final

TRANSLATIONS: Final = {
    "Job {name} is deleted.": "任务 {name} 已删除。",
    "Delete {jobs}? It has not finished.": "删除 {jobs}？它尚未结束。",
    "Delete {number} jobs? Not finished: {jobs}.": "删除 {number} 个任务？尚未结束的有：{jobs}。",
    "Nothing is named that is to be deleted.": "没有指定要删除的内容。",
    "{options} is about jobs, and {option} is not.": "{options} 针对任务，而 {option} 不是。",
    "{options} is about an embedded cluster, not about jobs.": "{options} 针对内嵌集群，而不是任务。",
    "a job: {job}; an embedded cluster with everything in it: {cluster}": (
        "删除任务：{job}；删除内嵌集群及其全部内容：{cluster}"
    ),
}
