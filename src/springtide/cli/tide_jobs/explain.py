# SPDX-License-Identifier: Apache-2.0
"""`tide explain`: why a job is in its state, what says so, and the next command to type."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from springtide.cli import speaking
from springtide.cli.connecting import Target, on_cluster
from springtide.cli.jobs import evidence, finding
from springtide.cli.tide_jobs.options import job_argument, type_option
from springtide.kube.client import Client
from springtide.messages import Language, Text, shown, text
from springtide.views.explaining import Evidence, Explanation, explained


@click.command()
@job_argument
@type_option
@click.option("-o", "--output", type=click.Choice(["json"]), help="Print JSON.")
@on_cluster()
def explain(target: Target, name: str, type_: str, output: str | None) -> None:
    """Explain why a job is in its state.

    \b
    tide explain bert
    tide explain bert -o json
    """

    async def look(client: Client) -> Evidence:
        return await evidence.gathered(client, await finding.find(client, target.namespace, name, type_))

    found = target.talk(look)
    explanation = explained(found)
    if output == "json":
        speaking.document(json.dumps(document(found, explanation, speaking.language()), indent=2, ensure_ascii=False))
        return
    for line in lines(found, explanation, speaking.language()):
        speaking.page(line)


def lines(found: Evidence, explanation: Explanation, language: Language) -> Iterator[str]:
    yield shown(explanation.sentence, language)
    for each in explanation.also:
        yield shown(each, language)
    if explanation.evidence:
        yield ""
        yield shown(text("Evidence:"), language)
        for fact in explanation.evidence:
            said = shown(fact.said, language) if isinstance(fact.said, Text) else fact.said
            yield f"  {fact.object} {fact.field}: {said}"
    yield ""
    yield shown(text("Next: {command}", command=explanation.command), language)


def document(found: Evidence, explanation: Explanation, language: Language) -> dict[str, object]:
    return {
        "name": found.name,
        "namespace": found.namespace,
        "kind": found.kind,
        "state": found.state,
        "cause": explanation.cause,
        "message": shown(explanation.sentence, language),
        "also": [shown(each, language) for each in explanation.also],
        "evidence": [
            {
                "object": fact.object,
                "field": fact.field,
                "said": shown(fact.said, language) if isinstance(fact.said, Text) else fact.said,
            }
            for fact in explanation.evidence
        ],
        "next": explanation.command,
    }
