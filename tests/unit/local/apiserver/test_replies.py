# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from springtide.local.apiserver.replies import JSON, PLAIN, YAML, Form, negotiate, refusal, reply
from springtide.local.status import StatusError, too_many_requests

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PROTOBUF = "application/vnd.kubernetes.protobuf"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", PLAIN),
        ("*/*", PLAIN),
        ("application/*", PLAIN),
        ("application/json, */*", PLAIN),
        ("application/yaml", Form(YAML)),
        (f"{PROTOBUF}, application/json", PLAIN),
        (PROTOBUF, PLAIN),
        (f"{TABLE},application/json", Form(JSON, "Table", "v1", "meta.k8s.io")),
        (f"{TABLE.replace('v1', 'v1beta1')}, {TABLE}", Form(JSON, "Table", "v1beta1", "meta.k8s.io")),
        (f"{TABLE.replace('v1', 'v9')},application/json", PLAIN),
        (f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json", PLAIN),
        (
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
            Form(JSON, "APIGroupDiscoveryList", "v2", "apidiscovery.k8s.io"),
        ),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", PLAIN),
    ],
)
def test_the_first_form_that_can_be_had_is_chosen(accept: str, form: Form) -> None:
    assert negotiate(accept) == form


@pytest.mark.parametrize("accept", ["text/html", TABLE.replace("v1", "v9"), "application/xml, text/plain"])
def test_what_cannot_be_had_is_refused(accept: str) -> None:
    with pytest.raises(StatusError) as refused:
        negotiate(accept)
    assert refused.value.code == 406


def test_yaml_is_written_for_those_who_ask() -> None:
    answer = reply({"kind": "X", "a": ["ä"]}, Form(YAML), 201)
    assert (answer.body.decode(), answer.status, answer.content_type) == ("a:\n- ä\nkind: X\n", 201, YAML)


def test_a_refusal_says_when_to_come_back() -> None:
    answer = refusal(too_many_requests("slow down", retry_after=7))
    assert (answer.status, answer.headers) == (429, {"Retry-After": "7"})
