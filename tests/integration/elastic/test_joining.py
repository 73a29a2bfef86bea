# SPDX-License-Identifier: Apache-2.0
"""When a rank says that it is there: others wait for it from then on."""

from __future__ import annotations

import socket
import threading

from springtide.elastic.protocol import wire
from springtide.elastic.ranks.session import Place, Session

SECRET = b"s" * wire.SECRET


def test_a_rank_joins_when_it_is_ready_to_train_and_not_when_it_first_asks() -> None:
    heard: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as door:
        linked: list[socket.socket] = []

        def launcher() -> None:
            connection, _ = door.accept()
            wire.answer(connection, SECRET)
            linked.append(connection)

        thread = threading.Thread(target=launcher)
        thread.start()
        place = Place((door.getsockname(),), 3, "a", 0, SECRET, beat=0.01)
        session = Session(place)
        thread.join()
    (link,) = linked
    with link:
        heard += [wire.receive(link).type for _ in range(5)]
        assert set(heard) == {"beat"}
        begun = threading.Thread(target=session.begin)
        begun.start()
        while wire.receive(link).type != "join":
            pass
        member = [3, 0, "a", 0, []]
        link.sendall(wire.encode("regroup", generation=1, members=[member], source=0, fresh=True, hold=False))
        begun.join()
        link.sendall(wire.encode("bye"))
    with session._link:
        session.connections.close()
