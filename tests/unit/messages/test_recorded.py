# SPDX-License-Identifier: Apache-2.0
"""What the operator records in English is recognised by its templates and shown in Chinese."""

from __future__ import annotations

import re
import string

import pytest
from tests.unit.messages.recorded_texts import found

from springtide.messages import FromOperator, Language, recorded_text, shown, text
from springtide.messages.recorded import translated
from springtide.messages.zh.operator import CLAUSES

ENGLISH = re.compile(r"(?<![\w/.-])(the|is|are|was|were|of|and|at|with|has|have|by|for|to)(?![\w/-])")
FIELD = re.compile(r"\{(\w+)(?::\w)?\}")
QUOTA = 'pods "pi-worker-2" is forbidden: exceeded quota: small'


def chinese(said: str) -> str:
    return recorded_text(said, Language.CHINESE)


@pytest.mark.parametrize("said", sorted(set(found())))
def test_explanations_that_the_operator_s_tests_expect_have_no_english_left(said: str) -> None:
    assert not ENGLISH.search(chinese(said)), chinese(said)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("The job runs with 2 workers.", "任务以 2 个 worker 运行。"),
        ("The job runs with 1 Chief, 2 PS and 3 workers.", "任务运行中：1 Chief, 2 PS 和 3 个 worker。"),
        (
            f"2 of 3 workers are in the host list. A worker pod cannot be created: {QUOTA}; see kubectl describe quota",
            f"3 个 worker 中有 2 个在主机列表中。无法创建 worker 的 pod：{QUOTA}；参见 kubectl describe quota",
        ),
        (
            "MPIJob ns/pi has failed: launcher exited with code 137 (SIGKILL): no; no data. Oh; see kubectl logs pi",
            "MPIJob ns/pi 已失败：launcher 以退出码 137 (SIGKILL) 结束：no; no data. Oh；参见 kubectl logs pi",
        ),
        (
            "toy-0 exited with code 1: no; backend; it was restarted, restart 1 of 6.",
            "toy-0 以退出码 1 结束：no; backend；已重启，第 1 次，上限 6 次。",
        ),
        (
            "ScaleOut add: 0 of 1 new workers are ready; all of them are removed again unless they are by 06:03:20 UTC"
            "; a failed worker is replaced at 06:05:10 UTC.",
            "ScaleOut add：1 个新 worker 中有 0 个就绪；若到 06:03:20 UTC 仍未全部就绪，将全部移除；"
            "失败的 worker 将于 06:05:10 UTC 被替换。",
        ),
        (
            "9 workers are requested, 4 run: must be between 1 and 4, as the launcher's command line says",
            "要求 9 个 worker，运行 4 个：必须在 1 和 4 之间（依据 launcher 的命令行）",
        ),
        (
            "3 PS replicas are requested, 2 run, 1 worker is requested, 2 run: a TFJob without spec.enableDynamicWorker"
            " keeps its size while it runs; suspend and resume the job to start anew with the requested size",
            "要求 3 个 PS 副本，运行 2 个，要求 1 个 worker，运行 2 个：没有 spec.enableDynamicWorker 的 TFJob "
            "在运行时保持规模不变；暂停再恢复任务，即以要求的规模重新启动",
        ),
    ],
)
def test_clauses_are_recognised_and_quotations_are_left_alone(said: str, wanted: str) -> None:
    assert chinese(said) == wanted


@pytest.mark.parametrize("said", ["", "Nobody ever recorded this.", "a; b. c; d", "{odd} %s {0}", "x" * 5000])
def test_what_is_not_recognised_stays_as_it_is(said: str) -> None:
    assert chinese(said) == said


def test_a_text_with_very_many_clauses_is_left_alone_in_the_end() -> None:
    said = "x; y. " * 600
    assert translated(said, CLAUSES) == said


def test_it_is_shown_as_a_part_of_a_message() -> None:
    message = text("Job {job} is running: {said}", job="pi", said=FromOperator("The job runs with 1 worker."))
    assert shown(message, Language.CHINESE) == "任务 pi 在运行：任务以 1 个 worker 运行。"
    assert shown(message, Language.ENGLISH) == "Job pi is running: The job runs with 1 worker."


@pytest.mark.parametrize("template", sorted(CLAUSES))
def test_a_translation_has_values_of_its_template_only(template: str) -> None:
    used = {name for _, name, _, _ in string.Formatter().parse(CLAUSES[template]) if name}
    assert used <= set(FIELD.findall(template))
