# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from springtide.local.access.authentication import Authenticator, read_static_tokens, user_of_certificate
from springtide.local.access.identity import ANONYMOUS_USER, User
from springtide.local.status import StatusError

JANE = User("jane", groups=("system:authenticated",))
ROBOT = User("system:serviceaccount:ci:robot")


class OneToken:
    def authenticate(self, token: str) -> User | None:
        return ROBOT if token == "good" else None


AUTHENTICATOR = Authenticator(OneToken(), {"static": JANE})


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/version"])
def test_anyone_may_ask_for_health_and_version(path: str) -> None:
    assert AUTHENTICATOR.authenticate("", None, path) == ANONYMOUS_USER


@pytest.mark.parametrize(
    ("authorization", "path"),
    [
        ("", "/api"),
        ("", "/healthz/etcd"),
        ("Bearer bad", "/api"),
        ("Bearer bad", "/version"),
        ("Basic Z29vZA==", "/api"),
        ("Bearer", "/api"),
    ],
)
def test_everything_else_needs_good_credentials(authorization: str, path: str) -> None:
    with pytest.raises(StatusError) as refused:
        AUTHENTICATOR.authenticate(authorization, None, path)
    assert (refused.value.code, refused.value.reason) == (401, "Unauthorized")


@pytest.mark.parametrize(
    ("authorization", "user"), [("Bearer good", ROBOT), ("bearer  good", ROBOT), ("Bearer static", JANE)]
)
def test_a_good_token_says_who_it_is(authorization: str, user: User) -> None:
    assert AUTHENTICATOR.authenticate(authorization, None, "/api") == user


def test_a_certificate_comes_before_a_token() -> None:
    assert AUTHENTICATOR.authenticate("Bearer bad", JANE, "/api") == JANE


def test_a_certificate_without_a_name_is_nobody() -> None:
    assert user_of_certificate({"subject": ((("organizationName", "system:masters"),),)}) is None


def test_a_static_token_file_is_read_as_the_real_server_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "tokens.csv"
    path.write_text('# people\nt1,jane,u1,"devs,ops"\nt2,bob,u2\n')
    assert read_static_tokens(path) == {
        "t1": User("jane", "u1", ("devs", "ops", "system:authenticated")),
        "t2": User("bob", "u2", ("system:authenticated",)),
    }


def test_a_short_line_in_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tokens.csv"
    path.write_text("t1,jane,u1\nt2\n")
    with pytest.raises(ValueError, match="line 2"):
        read_static_tokens(path)
