# SPDX-License-Identifier: Apache-2.0
"""Every line of every stream, in order, whatever happens to the disk."""

from __future__ import annotations

import re
import resource
from contextlib import aclosing

from tests.integration.runtime.pods import Pods, until


async def test_lines_have_time_stream_and_mark(pods: Pods) -> None:
    pod = await pods.make()
    await pod.script("echo out; echo err >&2; printf 'no end'")
    await pod.ended()
    pattern = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z (stdout|stderr) [FP] .*"
    assert all(re.fullmatch(pattern, line) for line in pod.log_path().read_text().splitlines())
    assert sorted(pod.lines()) == [("stderr", "F", "err"), ("stdout", "F", "out"), ("stdout", "P", "no end")]


async def test_nothing_is_lost_and_each_stream_keeps_its_order(pods: Pods) -> None:
    pod = await pods.make()
    await pod.script("seq 1 60000 & seq 60001 100000 >&2; wait")
    await pod.ended()
    for stream, wanted in (("stdout", range(1, 60001)), ("stderr", range(60001, 100001))):
        assert [int(text) for name, _, text in pod.lines() if name == stream] == list(wanted)


async def test_long_lines_come_in_parts(pods: Pods) -> None:
    pod = await pods.make()
    await pod.script("head -c 40000 /dev/zero | tr '\\0' x; echo; echo short")
    await pod.ended()
    assert [(mark, len(text)) for _, mark, text in pod.lines()] == [("P", 16384), ("P", 16384), ("F", 7232), ("F", 5)]


async def test_logs_are_rotated_and_the_oldest_go(pods: Pods) -> None:
    pod = await pods.make()
    await pod.script(
        "i=0; while [ $i -lt 62 ]; do i=$((i+1)); head -c 1000000 /dev/zero | tr '\\0' x | fold -w 999; done"
    )
    await pod.ended()
    files = sorted(pod.log_path().parent.iterdir())
    assert len(files) == 5
    assert all(file.stat().st_size < (10 << 20) + 200_000 for file in files)
    assert all(file.read_bytes().endswith(b"\n") for file in files)


async def test_a_disk_that_takes_no_more_stops_the_program_and_loses_nothing(pods: Pods) -> None:
    pod = await pods.make()
    before = resource.prlimit(pod.shim.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pod.shim.pid, resource.RLIMIT_FSIZE, (50_000, before[1]))
    await pod.script("seq 1 100000")

    async def trouble() -> None:
        async with aclosing(pod.shim.changes()) as changes:
            async for state in changes:
                if state.trouble:
                    assert "cannot write the log" in state.trouble
                    return

    await trouble()
    resource.prlimit(pod.shim.pid, resource.RLIMIT_FSIZE, before)
    state = await pod.ended()
    assert (state.exit_code, state.trouble) == (0, "")
    assert [int(text) for _, _, text in pod.lines()] == list(range(1, 100001))


async def test_an_end_is_told_while_the_disk_is_full_and_the_rest_follows(pods: Pods) -> None:
    pod = await pods.make()
    before = resource.prlimit(pod.shim.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pod.shim.pid, resource.RLIMIT_FSIZE, (2_000, before[1]))
    await pod.script("seq 1 2000; exit 3")
    assert (await pod.ended()).exit_code == 3
    resource.prlimit(pod.shim.pid, resource.RLIMIT_FSIZE, before)
    await until(lambda: [int(text) for _, _, text in pod.lines()] == list(range(1, 2001)))
