# SPDX-License-Identifier: Apache-2.0
"""Whatever a user writes arrives in the containers as it is: nothing is spliced into YAML or into a shell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import yaml
from hypothesis import given
from hypothesis import strategies as st

from springtide.manifests.last_applied import ANNOTATION, with_last_applied
from springtide.manifests.parts.objects import Obj
from springtide.manifests.rendering import kept_beside, render
from springtide.manifests.submissions.submission import (
    CodeSync,
    DeepSpeedJob,
    EtJob,
    MpiJob,
    PyTorchJob,
    Submission,
    TfJob,
    TfRole,
    User,
)

TYPES: Final = (EtJob, DeepSpeedJob, MpiJob, PyTorchJob, TfJob)
RUNNING: Final = {EtJob: 1, DeepSpeedJob: 1, MpiJob: 1, PyTorchJob: 2, TfJob: 2}
"""How many roles run the command."""
types: Final = st.sampled_from(TYPES)
texts: Final = st.text(alphabet=st.characters(codec="utf-8"))
names: Final = st.from_regex(r"[a-z]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)


def submission(type_: type[Any], **fields: Any) -> Submission:
    own = {"worker_role": TfRole(image="example.com/train:1"), "ps": 1} if type_ is TfJob else {}
    base = {"namespace": "default", "user": User(name="me", id="1"), "image": "example.com/train:1", "workers": 2}
    made: Submission = type_(**{"name": "train", "command": "true"} | base | own | fields)
    return made


def templates(job: Obj) -> list[Obj]:
    spec = job["spec"]
    roles = next(spec[field] for field in spec if field.endswith("ReplicaSpecs"))
    return [role["template"] for role in roles.values()]


def containers(job: Obj) -> Iterator[Obj]:
    for template in templates(job):
        yield from template["spec"]["containers"]
        yield from template["spec"].get("initContainers", ())


def variables(container: Obj) -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in container["env"]}


@given(type_=types, command=texts)
def test_a_command_is_one_argument_of_the_shell(type_: type[Any], command: str) -> None:
    commands = [each["command"] for each in containers(sent(submission(type_, command=command))) if "command" in each]
    assert commands == [["sh", "-c", command]] * RUNNING[type_]


@given(
    type_=types,
    value=texts,
    name=st.text(min_size=1, alphabet=st.characters(codec="utf-8", exclude_characters="=")),
)
def test_a_variable_has_its_value_in_all_containers(type_: type[Any], name: str, value: str) -> None:
    sync = CodeSync(mode="git", source="https://example.com/code.git")
    job = sent(submission(type_, variables={f"X{name}": value}, code_sync=sync))
    assert {variables(each)[f"X{name}"] for each in containers(job)} == {value}


@given(type_=types, value=texts)
def test_an_annotation_has_its_value_on_the_job_and_its_pods(type_: type[Any], value: str) -> None:
    job = sent(submission(type_, annotations={"why": value}))
    assert {each["metadata"]["annotations"]["why"] for each in (job, *templates(job))} == {value}


@given(type_=types, name=names)
def test_objects_have_the_name_of_the_job(type_: type[Any], name: str) -> None:
    job = sent(submission(type_, name=name))
    assert job["metadata"]["name"] == name
    assert {each["metadata"]["labels"]["release"] for each in templates(job)} == {name}


@given(type_=types, command=texts, value=texts)
def test_the_config_map_keeps_what_was_asked_for(type_: type[Any], command: str, value: str) -> None:
    asked = submission(type_, command=command, variables={"X": value})
    kept: Mapping[str, Any] = yaml.safe_load(kept_beside(asked, render(asked))["data"]["values"])
    assert (kept["command"], kept["envs"]["X"]) == (command, value)


@given(type_=types, command=texts)
def test_the_annotation_of_kubectl_is_the_job_as_it_was_rendered(type_: type[Any], command: str) -> None:
    job = render(submission(type_, command=command))[-1]
    applied = msgspec.json.decode(with_last_applied(job)["metadata"]["annotations"][ANNOTATION])
    assert applied == job


def sent(asked: Submission) -> Obj:
    """The job after it went over the wire."""
    job: Obj = msgspec.json.decode(msgspec.json.encode(with_last_applied(render(asked)[-1])))
    return job
