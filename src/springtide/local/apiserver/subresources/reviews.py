# SPDX-License-Identifier: Apache-2.0
"""Reviews and token requests: answered at once and never stored."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from springtide.local.access import reviews, token_requests
from springtide.local.access.authentication import Authenticator
from springtide.local.access.rbac import RbacIndex
from springtide.local.access.tokens import ServiceAccountTokens
from springtide.local.apiserver.context import Call, Context, StoreReader
from springtide.local.apiserver.dispatch import Verb
from springtide.local.apiserver.encoding import bodies
from springtide.local.apiserver.encoding.codecs import BuiltinCodec
from springtide.local.apiserver.registry.resources import Resource
from springtide.local.apiserver.replies import Answer, reply
from springtide.local.apiserver.verbs.options import write_options
from springtide.local.apiserver.writing import writes
from springtide.local.kinds.strategy import Obj, Strategy
from springtide.local.patches import managed_fields

_TOKEN_REQUEST = Resource(
    "authentication.k8s.io", "v1", "tokenrequests", "TokenRequest", "", True, Strategy(),
    lambda: BuiltinCodec("authentication.k8s.io", "v1", "TokenRequest"),
)  # fmt: skip

_MADE_ANEW = ("selfsubjectreviews", "selfsubjectrulesreviews")  # their responses contain nothing of the request


def review_verbs(
    authenticator: Authenticator, tokens: ServiceAccountTokens, index: RbacIndex
) -> dict[tuple[str, str], Verb]:
    """(group, plural) -> handler."""
    authentication, authorization = "authentication.k8s.io", "authorization.k8s.io"
    return {
        (authentication, "tokenreviews"): _asked(lambda o, c, n: reviews.token_review(o, authenticator, tokens)),
        (authentication, "selfsubjectreviews"): _asked(
            lambda o, c, n: reviews.self_subject_review(o, c.request.user, n)
        ),
        (authorization, "subjectaccessreviews"): _asked(lambda o, c, n: reviews.subject_access_review(o, index)),
        (authorization, "selfsubjectaccessreviews"): _asked(
            lambda o, c, n: reviews.self_subject_access_review(o, c.request.user, index)
        ),
        (authorization, "localsubjectaccessreviews"): _asked(
            lambda o, c, n: reviews.local_subject_access_review(o, c.target.namespace, index)
        ),
        (authorization, "selfsubjectrulesreviews"): _asked(
            lambda o, c, n: reviews.self_subject_rules_review(o, c.request.user, index)
        ),
    }


def _asked(judge: Callable[[Obj, Call, str], Obj]) -> Verb:
    async def handle(ctx: Context, call: Call) -> Answer:
        options = write_options(call.request, "CreateOptions")
        review = bodies.read_object(call, options.field_validation)
        if call.resource.plural not in _MADE_ANEW:
            managed_fields.track(None, review, call.resource.codec.node, writes.writer(ctx, call, options.manager))
        return reply(judge(review, call, ctx.now()), call.form, 201)

    return handle


def token_verb(tokens: ServiceAccountTokens) -> Verb:
    async def handle(ctx: Context, call: Call) -> Answer:
        options = write_options(call.request, "CreateOptions")
        asked = Call(call.request, call.target, _TOKEN_REQUEST, call.form)
        request = bodies.read_object(asked, options.field_validation)
        spec = request.setdefault("spec", {})
        if spec.get("expirationSeconds") is None:
            spec["expirationSeconds"] = 3600
        managed_fields.track(None, request, _TOKEN_REQUEST.codec.node, writes.writer(ctx, asked, options.manager))
        target, lookup = call.target, StoreReader(ctx.store).get
        answer = token_requests.answer(request, target.namespace, target.name, tokens, lookup, datetime.now(UTC))
        return reply(answer, call.form, 201)

    return handle
