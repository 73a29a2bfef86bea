# SPDX-License-Identifier: Apache-2.0
"""What is read from a launcher's command line, and what is not."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.api.builders import a_template

from springtide.api.command_lines import Launch, launch_of
from springtide.elastic.launcher.options import parser_of

ELASTIC = Launch("horovodrun", np=2, min_np=1, max_np=3, discovers_hosts=True)
OPTIONS = "-np 2 --min-np 1 --max-np 3 --host-discovery-script /etc/mpi/discover_hosts.sh"
LINE = f"horovodrun {OPTIONS} python train.py"
"""The command of the users' documents."""

BENCHMARK = (
    "mpirun --allow-run-as-root -np 2 -bind-to none -map-by slot -x NCCL_DEBUG=INFO -x LD_LIBRARY_PATH -x PATH "
    "-mca pml ob1 -mca btl ^openib python tf_cnn_benchmarks.py --model=resnet101 --batch_size=64"
)


def read(*command: str, **container: Any) -> Launch | None:
    return launch_of(a_template(*command, **container))


@pytest.mark.parametrize(
    ("line", "launch"),
    {
        "the documents' elastic job": (LINE, ELASTIC),
        "the documents' benchmark": (BENCHMARK, Launch("mpirun", np=2)),
        "a whole path": (f"/usr/local/bin/horovodrun {OPTIONS} python train.py", ELASTIC),
        "springtide's own launcher": (
            f"tiderun --heartbeat-timeout 9 {OPTIONS} python train.py",
            Launch("tiderun", np=2, min_np=1, max_np=3, discovers_hosts=True),
        ),
        "the longer names": (
            "horovodrun --num-proc 4 --min-num-proc 2 --max-num-proc 8 python x",
            Launch("horovodrun", np=4, min_np=2, max_np=8),
        ),
        "values behind equals signs": (
            "horovodrun -np=4 --min-np=2 --max-num-proc=8 python x",
            Launch("horovodrun", np=4, min_np=2, max_np=8),
        ),
        "the program's own options": (
            "horovodrun -np 2 python train.py --min-np 5 --max-np 9 -np 7",
            Launch("horovodrun", np=2),
        ),
        "the program's own options behind dashes": (
            "horovodrun -np 2 -- train --min-np 5",
            Launch("horovodrun", np=2),
        ),
        "an option with two values": (
            "horovodrun --blacklist-cooldown-range 10 20 --min-np 1 -np 2 python x",
            Launch("horovodrun", np=2, min_np=1),
        ),
        "flags without a value": (
            "horovodrun --verbose --gloo --disable-cache --min-np 1 -np 2 python x",
            Launch("horovodrun", np=2, min_np=1),
        ),
        "a value that looks like a program": (
            "horovodrun --log-level DEBUG --hosts a:1,b:1 --min-np 1 python x",
            Launch("horovodrun", min_np=1, names_hosts=True),
        ),
        "a file of hosts": (
            "mpirun -np 2 -hostfile /job/hostfile ./pi",
            Launch("mpirun", np=2, hostfile="/job/hostfile", names_hosts=True),
        ),
        "a named interface": (
            "horovodrun --network-interface eth0 --min-np 1 python x",
            Launch("horovodrun", min_np=1, names_interface=True),
        ),
        "named interfaces": (
            "horovodrun --network-interfaces=eth0,eth1 --min-np 1 python x",
            Launch("horovodrun", min_np=1, names_interface=True),
        ),
        "the last of two": ("horovodrun --min-np 1 --min-np 2 python x", Launch("horovodrun", min_np=2)),
        "no number": ("horovodrun --min-np many --max-np -1 -np 1.5 python x", Launch("horovodrun")),
        "no processes at all": ("horovodrun -np 0 --min-np 0 python x", Launch("horovodrun")),
        "a number nobody types": ("horovodrun --min-np ² -np ３ python x", Launch("horovodrun")),
        "an option at the end": ("horovodrun -np 2 --min-np", Launch("horovodrun", np=2)),
        "hydra's way": ("mpiexec.hydra -n 4 -ppn 2 -genv A b ./pi", Launch("mpiexec.hydra", np=4)),
        "two dashes for mpirun": ("mpirun --np 4 --map-by slot --mca a b ./pi", Launch("mpirun", np=4)),
        "the old letter of mpirun": ("orterun -c 4 ./pi", Launch("orterun", np=4)),
        "nothing told": ("mpirun ./pi -np 4", Launch("mpirun")),
        "a wrapper": (f"tini -g -- {LINE}", ELASTIC),
        "an environment": (f"env -i A=1 PATH=/bin {LINE}", ELASTIC),
        "a time limit": (f"timeout -k 5 3600 {LINE}", ELASTIC),
        "a program that only mentions it": (f"echo {LINE}", None),
        "a program that starts it by itself": ("python launch.py --min-np 1", None),
        "nothing": ("", None),
    }.values(),
    ids=str,
)
def test_a_command_line_says_how_many_processes_there_are(line: str, launch: Launch | None) -> None:
    words = line.split()
    assert read(*words) == launch
    assert read(*words[:1], args=words[1:]) == launch
    assert read(args=words) == launch
    assert read("sh", "-c", line) == launch


@pytest.mark.parametrize(
    "words",
    {
        "sh": ["sh", "-c", LINE],
        "a login shell": ["/bin/bash", "-lc", LINE],
        "a shell with options": ["bash", "-o", "pipefail", "-euxc", LINE],
        "a shell in a shell": ["sh", "-c", f"bash -c '{LINE}'"],
        "a shell behind a wrapper": ["tini", "--", "sh", "-c", LINE],
        "words after the script": ["sh", "-c", LINE, "name", "--min-np", "9"],
        "steps before": ["sh", "-c", f"cd /examples && pip install -r r.txt; {LINE}"],
        "steps after": ["sh", "-c", f"{LINE} && echo --min-np 7 || exit 1"],
        "lines": ["sh", "-c", f"set -e\n# horovodrun --min-np 9 python\necho start\n\n{LINE}\n"],
        "a continued line": ["sh", "-c", LINE.replace(" --", " \\\n  --")],
        "variables before": ["sh", "-c", f"HOROVOD_LOG_LEVEL=debug A= exec {LINE} 2>&1 | tee log"],
        "a condition": ["sh", "-c", f"if true; then {LINE}; fi"],
        "a sub-shell": ["sh", "-c", f"(cd /tmp; {LINE})"],
        "a check by mpirun first": ["sh", "-c", f"mpirun -np 8 hostname; {LINE}"],
        "quotes": ["sh", "-c", f"horovodrun '-np' \"2\" {OPTIONS} python -c 'import a; b()'"],
        "something computed": ["sh", "-c", f"horovodrun --log-level $(cat `which l`) {OPTIONS} python train.py"],
        "products": ["sh", "-c", LINE.replace("-np 2", "-np $((2*1))")],
        "products with blanks": ["sh", "-c", LINE.replace("-np 2", "-np $(( 1 * 2 ))")],
        "something reckoned": ["sh", "-c", f"horovodrun --ssh-port $(( (1+2) * 3 )) {OPTIONS} python train.py"],
    }.values(),
    ids=str,
)
def test_a_program_is_found_inside_a_shell(words: list[str]) -> None:
    assert read(*words) == ELASTIC


@pytest.mark.parametrize(
    "words",
    [
        ["sh", "-c", f"{LINE} 'never closed"[: -len(" closed")]],
        ["sh", "-c"],
        ["sh", "run.sh", "--min-np", "1"],
        ["sh"],
        ["sh", "-c", ""],
        ["sh", "-c", "echo \\"],
    ],
)
def test_a_script_that_cannot_be_read_says_nothing(words: list[str]) -> None:
    assert read(*words) is None


ENVIRONMENT = [
    {"name": "LEAST", "value": "1"},
    {"name": "MOST", "value": "$(LEAST)2"},
    {"name": "SECRET", "valueFrom": {}},
]


@pytest.mark.parametrize(
    ("words", "min_np", "max_np"),
    [
        (["horovodrun", "--min-np", "$(LEAST)", "--max-np", "$(MOST)", "x"], 1, 12),
        (["sh", "-c", "horovodrun --min-np $LEAST --max-np ${MOST} x"], 1, 12),
        (["sh", "-c", "horovodrun --min-np $(LEAST) --max-np $(nproc) x"], 1, None),
        (["sh", "-c", "horovodrun --min-np $OTHER --max-np ${MOST:-4} x"], None, None),
        (["horovodrun", "--min-np", "$$(LEAST)", "--max-np", "$(SECRET)", "x"], None, None),
    ],
)
def test_variables_are_put_in_as_far_as_they_are_known(words: list[str], min_np: int, max_np: int) -> None:
    assert read(*words, env=ENVIRONMENT) == Launch("horovodrun", min_np=min_np, max_np=max_np)


@pytest.mark.parametrize("template", [{}, {"spec": None}, {"spec": {}}, {"spec": {"containers": []}}])
def test_a_template_without_containers_says_nothing(template: dict[str, Any]) -> None:
    assert launch_of(template) is None


def test_only_the_first_container_counts() -> None:
    first, second = a_template("sleep", "1"), a_template(*LINE.split())
    assert launch_of({"spec": {"containers": first["spec"]["containers"] + second["spec"]["containers"]}}) is None


@pytest.mark.parametrize(
    ("line", "elastic"),
    [
        ("horovodrun -np 2 python x", False),
        ("horovodrun -np 2 --max-np 4 python x", False),
        ("horovodrun --min-np 1 python x", True),
        ("horovodrun --host-discovery-script d.sh python x", True),
        ("mpirun --min-np 1 python x", False),
    ],
)
def test_horovodrun_is_elastic_when_it_was_told_so(line: str, elastic: bool) -> None:
    launch = read(*line.split())
    assert launch is not None
    assert launch.elastic is elastic


@given(
    st.permutations(["-np 2", "--min-np 1", "--max-np=3", "--verbose", "-p 22", "--host-discovery-script d"]),
    st.lists(st.sampled_from(["--min-np", "9", "-np", "--max-np=9", "x"])),
)
def test_the_order_of_options_and_the_words_of_the_program_change_nothing(options: list[str], rest: list[str]) -> None:
    words = ["horovodrun", *(word for option in options for word in option.split()), "python", *rest]
    assert read(*words) == ELASTIC
    assert read("sh", "-c", " ".join(words)) == ELASTIC


@given(st.lists(st.text()))
def test_no_command_line_is_too_strange_to_be_looked_at(words: list[str]) -> None:
    read(*words)
    read("sh", "-c", " ".join(words))


@given(st.text(alphabet="horovdun sh-c mirp'\"\\\n;&|()$`{}#=19"))
def test_no_script_is_too_strange_to_be_looked_at(script: str) -> None:
    read("sh", "-c", script)
    read("sh", "-c", f"horovodrun {script}")


def test_every_option_of_tiderun_takes_as_many_values_as_it_does_there() -> None:
    """The platform and what runs inside training processes share no code, so they are held together here."""
    for action in parser_of()._actions:
        many = 0 if action.nargs == 0 else action.nargs if isinstance(action.nargs, int) else 1
        for option in action.option_strings:
            if action.nargs != "?":  # refused, and followed by nothing that counts
                line = f"tiderun {option} {'x ' * many}--host-discovery-script x program"
                assert (found := read(*line.split())) is not None
                assert found.discovers_hosts, option


@pytest.mark.parametrize(
    "script",
    ["$((" * 20_000, "echo $((1)) " * 2_000 + "$((" * 10_000, "`" * 60_001, "$(" * 30_000, "mpirun -np 2 " * 10_000],
    ids=["open arithmetic", "arithmetic", "backticks", "open substitutions", "too long"],
)
def test_long_scripts_are_read_once(script: str) -> None:
    assert launch_of(a_template(command=["sh", "-c", script])) is None


def test_options_of_a_shell_are_read_once() -> None:
    assert launch_of(a_template(command=["sh", "-" + "c" * 300_000 + "!", "x"])) is None


def test_a_number_of_ranks_beyond_all_bounds_counts_as_not_said() -> None:
    launch = launch_of(a_template(command=["mpirun", "-np", "9" * 5000, "x"]))
    assert launch is not None
    assert launch.np is None


def test_variables_that_grow_beyond_measure_say_nothing() -> None:
    """Forty that each hold the one before twice would be a terabyte."""
    laughs = [{"name": "V0", "value": "xx"}]
    laughs += [{"name": f"V{number}", "value": f"$(V{number - 1})" * 2} for number in range(1, 41)]
    assert launch_of(a_template("mpirun", "-np", "2", "$(V40)", env=laughs)) is None
    big = [{"name": "BIG", "value": "x" * 1_000_000}]
    assert launch_of(a_template("mpirun", "-np", "2", *["$(BIG)"] * 4_000, env=big)) is None
    assert launch_of(a_template("mpirun", "-np", "2", "$(BIG)" * 100_000, env=big)) == Launch("mpirun", np=2)


def test_more_words_or_variables_than_anybody_writes_say_nothing() -> None:
    many = [{"name": f"V{number}", "value": "x"} for number in range(5001)]
    assert launch_of(a_template("mpirun", "-np", "2", "x", env=many)) is None
    assert launch_of(a_template(*["env"] * 5000, "mpirun", "-np", "2", "x")) is None
    assert launch_of(a_template(*["env"] * 4000, "mpirun", "-np", "2", "x", env=many[:5000])) == Launch("mpirun", np=2)


def test_long_command_lines_are_not_remembered() -> None:
    """The operator parses each many times, and there may be as many long ones as there are jobs."""
    tracemalloc.start()
    try:
        for number in range(40):
            line = ["mpirun", "-np", "2", "train", *(f"{number}.{word}" for word in range(4_000))]
            assert launch_of(a_template(*line)) == Launch("mpirun", np=2)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 2**20  # all of them take ten times as much
