# SPDX-License-Identifier: Apache-2.0
"""`arena whoami`."""

from __future__ import annotations

import json
from typing import Final

from springtide.cli.arena.command_tree import Verb
from springtide.cli.arena.session import Session
from springtide.cli.flags.pflag import Parsed
from springtide.cli.jobs import users
from springtide.kube.client import Client


def whoami(session: Session, line: Parsed) -> None:
    async def asked(client: Client) -> dict[str, object]:
        user = await users.user_of(client, session.target.connection)
        admin = await users.is_administrator(client, user, session.globals["arena-namespace"])
        return {"Name": user.name, "Id": user.id, "IsAdminUser": admin}

    print(json.dumps(session.talk(asked), separators=(",", ":"), ensure_ascii=False))


WHOAMI: Final = Verb((), whoami)
