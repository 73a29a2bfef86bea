# SPDX-License-Identifier: Apache-2.0
"""Access reviews: kinds that are answered and never stored.

Each function takes the posted object and returns it with its status; the API server only routes. Used by `kubectl auth
can-i` and `kubectl auth whoami`, and by webhooks that check tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from springtide.api import field_errors
from springtide.local import status
from springtide.local.access.attributes import Attributes, Authorizer
from springtide.local.access.authentication import Authenticator
from springtide.local.access.identity import User, node_of
from springtide.local.access.jws import BadTokenError
from springtide.local.access.rbac import RbacIndex
from springtide.local.access.tokens import ServiceAccountTokens, TokenError

_AUTHORIZATION: Final = "authorization.k8s.io"
_INVALID_TOKEN: Final = "invalid bearer token"

Obj = dict[str, Any]


def token_review(review: Obj, authenticator: Authenticator, tokens: ServiceAccountTokens) -> Obj:
    spec = review.get("spec") or {}
    token = spec.get("token", "")
    if not token:
        raise status.bad_request("token is required for TokenReview in authentication")
    return {**review, "status": _token_status(token, tuple(spec.get("audiences") or ()), authenticator, tokens)}


def _token_status(
    token: str, audiences: tuple[str, ...], authenticator: Authenticator, tokens: ServiceAccountTokens
) -> Obj:
    user = authenticator.static_user(token)
    shared = tuple(audience for audience in audiences or tokens.audiences if audience in tokens.audiences)
    if user is None:
        try:
            user, shared = tokens.verify(token, audiences or tokens.audiences)
        except BadTokenError:
            return {"user": {}, "error": _INVALID_TOKEN}
        except TokenError as error:
            return {"user": {}, "error": f"[{_INVALID_TOKEN}, {error}]"}
    if not shared:
        return {"user": {}, "error": _INVALID_TOKEN}
    return {"authenticated": True, "user": user.as_user_info(), "audiences": list(shared)}


def self_subject_review(review: Obj, user: User, now: str) -> Obj:
    meta = {**(review.get("metadata") or {}), "creationTimestamp": now}
    return {**review, "metadata": meta, "status": {"userInfo": user.as_user_info()}}


def self_subject_access_review(review: Obj, user: User, authorizer: Authorizer) -> Obj:
    spec = review.get("spec") or {}
    _check(_one_question(spec))
    return _decided(review, user, authorizer)


def subject_access_review(review: Obj, authorizer: Authorizer) -> Obj:
    spec = review.get("spec") or {}
    _check(_one_question(spec) + _somebody(spec))
    return _decided(review, _subject(spec), authorizer)


def local_subject_access_review(review: Obj, namespace: str, authorizer: Authorizer) -> Obj:
    spec = review.get("spec") or {}
    errors = _one_question(spec) + _somebody(spec)
    attributes = spec.get("resourceAttributes")
    if attributes is not None and attributes.get("namespace", "") != namespace:
        given = attributes.get("namespace", "")
        where = "spec.resourceAttributes.namespace"
        errors.append(field_errors.invalid(where, given, "must match metadata.namespace"))
    if spec.get("nonResourceAttributes") is not None:
        complaint = "disallowed on this kind of request"
        shown = _in_go(spec["nonResourceAttributes"])
        errors.append(field_errors.invalid("spec.nonResourceAttributes", shown, complaint))
    _check(errors)
    return _decided(review, _subject(spec), authorizer)


def self_subject_rules_review(review: Obj, user: User, index: RbacIndex) -> Obj:
    namespace = (review.get("spec") or {}).get("namespace", "")
    if not namespace:
        raise status.bad_request("no namespace on request")
    rules = index.rules_for(user, namespace)
    answer: Obj = {
        "resourceRules": [_without(rule, "nonResourceURLs") for rule in rules if rule.get("resources")],
        "nonResourceRules": [
            {"verbs": rule["verbs"], "nonResourceURLs": rule["nonResourceURLs"]}
            for rule in rules
            if rule.get("nonResourceURLs")
        ],
        "incomplete": bool(node_of(user)),
    }
    if node_of(user):
        answer["evaluationError"] = "node authorizer does not support user rule resolution"
    return {**review, "spec": {}, "status": answer}  # kube-apiserver omits the namespace in its response


def _decided(review: Obj, user: User, authorizer: Authorizer) -> Obj:
    decision = authorizer.authorize(user, _attributes(review["spec"]))
    answer: Obj = {"allowed": decision.allowed}
    if decision.reason:
        answer["reason"] = decision.reason
    return {**review, "status": answer}


def _attributes(spec: Mapping[str, Any]) -> Attributes:
    wanted = spec.get("resourceAttributes")
    if wanted is None:
        path = spec["nonResourceAttributes"]
        return Attributes(path.get("verb", ""), path=path.get("path", ""))
    fields = ("verb", "group", "resource", "subresource", "name", "namespace")
    return Attributes(*(wanted.get(field, "") for field in fields))


def _subject(spec: Mapping[str, Any]) -> User:
    extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), extra)


def _one_question(spec: Mapping[str, Any]) -> list[field_errors.FieldError]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        complaint = "cannot be specified in combination with resourceAttributes"
        return [field_errors.invalid("spec.nonResourceAttributes", _in_go(path), complaint)]
    if resource is None and path is None:
        complaint = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [field_errors.invalid("spec.resourceAttributes", None, complaint)]
    return []


def _somebody(spec: Mapping[str, Any]) -> list[field_errors.FieldError]:
    if spec.get("user") or spec.get("groups"):
        return []
    return [field_errors.invalid("spec.user", "", "at least one of user or group must be specified")]


def _in_go(path: Mapping[str, Any]) -> Obj:
    """An internal Go struct, whose field names appear in kube-apiserver's message."""
    return {"Path": path.get("path", ""), "Verb": path.get("verb", "")}


def _check(errors: list[field_errors.FieldError]) -> None:
    if errors:
        raise status.invalid(_AUTHORIZATION, "", "", errors)


def _without(rule: Mapping[str, Any], field: str) -> Obj:
    return {key: value for key, value in rule.items() if key != field}
