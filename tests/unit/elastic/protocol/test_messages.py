# SPDX-License-Identifier: Apache-2.0
"""Messages as they go over the wire. All processes of a run are of one version, but one that runs goes on with agents
and ranks of the version that is installed meanwhile: what is written here changes with care."""

from __future__ import annotations

import json
import secrets
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import hostile

from springtide.elastic.protocol import agent_messages, rank_messages, wire
from springtide.elastic.protocol.agent_messages import FROM_AGENT, TO_AGENT, Program
from springtide.elastic.protocol.codec import Codec
from springtide.elastic.protocol.rank_messages import AMONG_RANKS, FROM_RANK, TO_RANK
from springtide.elastic.shared.members import Member

MEMBERS = (Member(7, 0, "a", 0, (("10.0.0.1", 4242), ("fd00::1", 4242))), Member(9, 1, "b", 0, ()))
WRITTEN = [[7, 0, "a", 0, [["10.0.0.1", 4242], ["fd00::1", 4242]]], [9, 1, "b", 0, []]]
CODECS: tuple[Codec[Any], ...] = (FROM_AGENT, TO_AGENT, FROM_RANK, TO_RANK, AMONG_RANKS)
ON_THE_WIRE: list[tuple[Codec[Any], Any, dict[str, Any], bytes]] = [
    (FROM_AGENT, agent_messages.Beat(), {"type": "beat"}, b""),
    (FROM_AGENT, agent_messages.Started(12), {"type": "started", "pid": 12}, b""),
    (FROM_AGENT, agent_messages.Output("err", b"\0x"), {"type": "output", "stream": "err"}, b"\0x"),
    (FROM_AGENT, agent_messages.Exited(3, 0), {"type": "exited", "code": 3, "signal": 0}, b""),
    (TO_AGENT, agent_messages.Beat(), {"type": "beat"}, b""),
    (TO_AGENT, agent_messages.Welcome(b"sealed"), {"type": "welcome"}, b"sealed"),
    (TO_AGENT, agent_messages.Taken(65536), {"type": "taken", "bytes": 65536}, b""),
    (TO_AGENT, agent_messages.Kill(15), {"type": "kill", "signal": 15}, b""),
    (TO_AGENT, agent_messages.Bye(), {"type": "bye"}, b""),
    (FROM_RANK, agent_messages.Beat(), {"type": "beat"}, b""),
    (FROM_RANK, rank_messages.Join((("a", 1),), 5), {"type": "join", "addresses": [["a", 1]], "pid": 5}, b""),
    (FROM_RANK, rank_messages.At(2, 3, -1), {"type": "at", "generation": 2, "boundary": 3, "commit": -1}, b""),
    (FROM_RANK, rank_messages.Entered(2), {"type": "entered", "generation": 2}, b""),
    (FROM_RANK, rank_messages.Trouble(2, 1, "x"), {"type": "trouble", "generation": 2, "commit": 1, "why": "x"}, b""),
    (FROM_RANK, rank_messages.Unreachable(2, 9), {"type": "unreachable", "generation": 2, "id": 9}, b""),
    (FROM_RANK, rank_messages.Left(), {"type": "left"}, b""),
    (FROM_RANK, rank_messages.Finished(), {"type": "finished"}, b""),
    (FROM_RANK, rank_messages.Progress({"step": 4, "loss": None}), {"type": "progress", "step": 4, "loss": None}, b""),
    (FROM_RANK, rank_messages.KeepsCheckpoints(), {"type": "keeps"}, b""),
    (FROM_RANK, rank_messages.CheckpointKept(), {"type": "kept"}, b""),
    (FROM_RANK, rank_messages.CheckpointKept(8), {"type": "kept", "step": 8}, b""),
    (TO_RANK, agent_messages.Beat(), {"type": "beat"}, b""),
    (TO_RANK, rank_messages.Prepare(3, MEMBERS), {"type": "prepare", "generation": 3, "members": WRITTEN}, b""),
    (TO_RANK, rank_messages.Cancel(3), {"type": "cancel", "generation": 3}, b""),
    (
        TO_RANK,
        rank_messages.Switch(3, 0, hold=False, boundary=9),
        {"type": "switch", "generation": 3, "source": 0, "hold": False, "boundary": 9},
        b"",
    ),
    (
        TO_RANK,
        rank_messages.Regroup(3, 1, hold=True, members=MEMBERS, fresh=False),
        {"type": "regroup", "generation": 3, "source": 1, "hold": True, "members": WRITTEN, "fresh": False},
        b"",
    ),
    (TO_RANK, rank_messages.WriteCheckpoint(), {"type": "keep"}, b""),
    (TO_RANK, agent_messages.Bye(), {"type": "bye"}, b""),
    (AMONG_RANKS, rank_messages.Hello(3, 9), {"type": "hello", "generation": 3, "to": 9}, b""),
    (AMONG_RANKS, rank_messages.Here(), {"type": "here"}, b""),
]


def test_messages_and_their_frames() -> None:
    for codec, message, head, payload in ON_THE_WIRE:
        (frame,) = wire.decode(bytearray(codec.encode(message)))
        assert (frame.head, frame.payload) == (head, payload)
        assert codec.decode(frame) == message


def test_every_message_is_in_the_list_above() -> None:
    listed = {(id(codec), type(message)) for codec, message, *_ in ON_THE_WIRE}
    assert listed == {(id(codec), type_) for codec in CODECS for type_ in codec.types.values()}


def test_what_does_not_go_this_way_is_no_message() -> None:
    assert FROM_AGENT.read({"type": "kill", "signal": 9}) is None
    assert TO_RANK.read({}) is None


@pytest.mark.parametrize(
    "head",
    [
        {"type": "at", "generation": 1, "boundary": 2},
        {"type": "at", "generation": 1, "boundary": 2, "commit": "3"},
        {"type": "at", "generation": 1, "boundary": 2, "commit": 1 << 63},
        {"type": "join", "addresses": 5},
        {"type": "join", "addresses": [["a"]]},
        {"type": "join", "addresses": [["a", "b"]]},
        {"type": "join"},
        {"type": "trouble", "generation": 1, "commit": 2, "why": 3},
    ],
    ids=str,
)
def test_a_message_that_lacks_something_is_refused(head: dict[str, Any]) -> None:
    with pytest.raises(wire.RefusedError, match=head["type"]):
        FROM_RANK.read(head)


@given(
    st.sampled_from([head for _, _, head, _ in ON_THE_WIRE]),
    st.dictionaries(st.sampled_from(["generation", "members", "addresses", "hold", "why"]), st.from_type(object)),
)
def test_whatever_comes_is_a_message_or_refused(head: dict[str, Any], changes: dict[str, Any]) -> None:
    for codec in CODECS:
        try:
            codec.read(head | changes)
        except wire.RefusedError as error:
            assert head["type"] in str(error)  # noqa: PT017 - either is well


@pytest.mark.parametrize("words", hostile.LINES.values(), ids=list(hostile.LINES))
def test_a_program_that_cannot_be_read_is_refused(words: bytes) -> None:
    key = b"k" * wire.SECRET
    bond = wire.Bond(wire.Opening.new(wire.Caller.AGENT, 1), secrets.token_bytes(wire.NONCE), key)
    with pytest.raises(wire.RefusedError):
        Program.unsealed(agent_messages.Welcome(bond.seal(words)), bond)


def test_a_program_comes_as_it_was_sealed() -> None:
    bond = wire.Bond(wire.Opening.new(wire.Caller.AGENT, 1), secrets.token_bytes(wire.NONCE), b"k" * wire.SECRET)
    program = Program(("python", "x.py"), {"A": "b"}, "/work", b"s" * wire.SECRET)
    welcome = program.sealed(bond)
    assert Program.unsealed(welcome, bond) == program
    assert json.loads(bond.unseal(welcome.sealed)) == {
        "argv": ["python", "x.py"],
        "env": {"A": "b"},
        "cwd": "/work",
        "secret": (b"s" * wire.SECRET).hex(),
    }
