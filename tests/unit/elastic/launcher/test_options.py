# SPDX-License-Identifier: Apache-2.0
"""The command line: horovodrun's words and their meaning."""

from __future__ import annotations

from pathlib import Path

import pytest

from springtide.elastic.launcher import options
from springtide.elastic.launcher.options import Options
from springtide.elastic.launcher.state_machine.workers import Limits


def read(line: str, **environment: str) -> Options:
    return options.read(line.split(), environment)


def test_the_job_of_the_users_example() -> None:
    script = "/etc/mpi/discover_hosts.sh"
    given = read(f"-np 2 --min-np 1 --max-np 3 --host-discovery-script {script} python mnist.py --lr 0.1 -np 7")
    assert given.command == ("python", "mnist.py", "--lr", "0.1", "-np", "7")
    assert given.limits == Limits(start=2, least=1, most=3)
    assert (given.elastic, given.script, given.hosts) == (True, script, {})


def test_what_is_not_given() -> None:
    given = read("-np 2 prog")
    assert given.limits == Limits(2, 2, 2)
    assert not given.elastic
    assert given.hosts == {"localhost": 2}
    assert (given.start_timeout, given.elastic_timeout, given.heartbeat_timeout) == (30, 600, 30)
    assert given.cooldown == (10, 300)


def test_an_elastic_run_has_no_upper_bound_and_its_start_for_a_lower_one() -> None:
    assert read("-np 2 --host-discovery-script x prog").limits == Limits(2, 2, None)


def test_a_run_with_named_hosts_is_elastic_with_a_lower_bound() -> None:
    given = read("-np 2 --min-np 1 -H a:1,b:1 prog")
    assert given.elastic
    assert given.hosts == {"a": 1, "b": 1}


def test_the_long_words(tmp_path: Path) -> None:
    hostfile = tmp_path / "hosts"
    hostfile.write_text("a slots=2\nb slots=2\n")
    given = read(
        f"--num-proc 2 --min-num-proc 1 --max-num-proc 4 --hostfile {hostfile} --ssh-port 2222 --ssh-identity-file k "
        "--network-interfaces eth0,eth1 --reset-limit 3 --blacklist-cooldown-range 5 50 --start-timeout 7 "
        "--elastic-timeout 8 --heartbeat-timeout 9 --output-filename out --prefix-output-with-timestamp --verbose prog"
    )
    assert given.limits == Limits(2, 1, 4, 3)
    assert given.hosts == {"a": 2, "b": 2}
    assert (given.ssh_port, given.ssh_identity, given.interfaces) == (2222, "k", ("eth0", "eth1"))
    assert (given.start_timeout, given.elastic_timeout, given.heartbeat_timeout) == (7, 8, 9)
    assert (given.cooldown, given.output, given.timestamps, given.verbose) == ((5, 50), Path("out"), True, True)


def test_times_of_the_environment() -> None:
    given = read("-np 1 prog", HOROVOD_START_TIMEOUT="5", HOROVOD_ELASTIC_TIMEOUT="6")
    assert (given.start_timeout, given.elastic_timeout) == (5, 6)
    assert read("-np 1 --start-timeout 7 prog", HOROVOD_START_TIMEOUT="5").start_timeout == 7


def test_what_only_tunes_horovod_is_taken() -> None:
    assert read("--gloo --fusion-threshold-mb 32 --log-level INFO -np 1 prog").command == ("prog",)
    assert read("--no-autotune --log-hide-timestamp --mpi-threads-disable --stall-check -np 1 prog").command == (
        "prog",
    )
    assert read("-prefix-timestamp -np 1 prog").timestamps


@pytest.mark.parametrize(
    ("option", "complaint"), [("-H", "no host is named"), ("--host-discovery-script", "no script")]
)
def test_what_names_no_hosts_is_not_this_machine(
    option: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        options.read(["-np", "1", option, "", "prog"], {})
    assert complaint in capsys.readouterr().err


def test_a_hostfile_that_is_no_text_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "hosts").write_bytes(b"\xff\xfe")
    with pytest.raises(SystemExit):
        read(f"-np 1 --hostfile {tmp_path}/hosts prog")
    assert f"{tmp_path}/hosts: it is no text" in capsys.readouterr().err


def test_a_bad_time_of_the_environment_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read("-np 1 prog", HOROVOD_START_TIMEOUT="soon")
    assert "HOROVOD_START_TIMEOUT: 'soon' is no number of seconds" in capsys.readouterr().err
    assert read("-np 1 --start-timeout 7 prog", HOROVOD_START_TIMEOUT="soon").start_timeout == 7


@pytest.mark.parametrize("option", ["--max-np", "--reset-limit"])
def test_what_has_no_effect_is_told(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert read(f"-np 2 {option} 4 prog").command == ("prog",)
    assert capsys.readouterr().err.startswith(f"tiderun: {option} has no effect")
    read(f"-np 2 --min-np 1 {option} 4 prog")
    assert not capsys.readouterr().err


def test_interfaces_add_up() -> None:
    assert read("-np 1 --network-interface a,b --nics b,c prog").interfaces == ("a", "b", "c")


def test_the_frameworks_that_are_found_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        read("-cb")
    assert ended.value.code == 0
    assert "numpy (found)" in capsys.readouterr().out


def test_two_dashes_end_the_options() -> None:
    assert read("-np 1 -- prog --help").command == ("prog", "--help")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("prog", "-np is missing: how many ranks to begin with"),
        ("-np 2", "no program is given"),
        ("-np 0 prog", "0 is too small"),
        ("-np x prog", "'x' is no number"),
        ("-np 1 --nonsense prog", "--nonsense is not an option of tiderun"),
        ("-np 1 --min-n 1 prog", "--min-n is not an option of tiderun"),
        ("--mpi -np 1 prog", "--mpi is not an option of tiderun: ranks are not started through MPI"),
        ("-np 4 -H a:1,b:1 prog", "-np 4 takes more slots than there are: a:1, b:1"),
        ("-np 4 --min-np 3 -H a:1,b:1 prog", "--min-np 3 takes more slots than there are: a:1, b:1"),
        ("-np 2 --min-np 3 prog", "--min-np 3 is more than -np 2"),
        ("-np 2 --min-np 1 --max-np 1 prog", "--max-np 1 is less than -np 2"),
        ("-np 1 -H a --host-discovery-script x prog", "hosts come from -H or from the script, not from both"),
        ("-np 1 -H a:x prog", "-H: 'x' is no number of slots"),
        ("-np 1 --hostfile /nonexistent prog", "/nonexistent: No such file or directory"),
        ("-np 1 --blacklist-cooldown-range 20 10 prog", "1 to 3600, the smaller one first"),
        ("-np 1 --elastic-timeout never prog", "'never' is no number of seconds"),
        ("-np 2 --max-np 1 prog", "--max-np 1 is less than -np 2"),
        ("-np 1 -H , prog", "-H: no host is named"),
        ("-np 1 -p 99999 prog", "99999 is no port; it takes 1 to 65535"),
        ("-np 20000000 prog", "20000000 is too large; it takes 65536 or fewer"),
        ("-np 1 -H localhost:99999999 prog", "-H: 99999999 slots are too many; a host has 65536 or fewer"),
    ],
)
def test_what_cannot_be_meant(line: str, complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        read(line)
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


def test_help_names_every_option_that_matters(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        read("--help")
    assert ended.value.code == 0
    text = capsys.readouterr().out
    for word in ("-np", "--min-np", "--max-np", "--host-discovery-script", "--output-filename"):
        assert word in text
    assert "--fusion-threshold-mb" not in text


def test_horovodrun_reads_the_same_line_and_says_whose_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["-np", "2", "--min-np", "1", "-H", "a:1,b:1", "python", "train.py"]
    assert options.read(line, {}, "horovodrun") == options.read(line, {})
    with pytest.raises(SystemExit):
        options.read(["--version"], {}, "horovodrun")
    assert "Springtide" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        options.read(["--no-such-option"], {}, "horovodrun")
    assert "horovodrun: --no-such-option is not an option of horovodrun" in capsys.readouterr().err


def test_a_failed_runs_events_go_where_the_variable_says_or_beside_what_its_ranks_print() -> None:
    assert read("-np 1 prog").event_log is None
    assert read("-np 1 --output-filename out prog").event_log == Path("out/events.jsonl")
    assert read("-np 1 --output-filename out prog", TIDE_EVENT_LOG="/var/log/run").event_log == Path("/var/log/run")
