# SPDX-License-Identifier: Apache-2.0
"""Signed tokens (compact JWS, ES256) with the cluster's own key; replaces a JWT library."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from springtide.local.access.files import write_private

ALGORITHM: Final = "ES256"
_HALF: Final = 32  # a signature is two numbers of this many bytes
_ECDSA: Final = ec.ECDSA(hashes.SHA256())


class BadTokenError(ValueError):
    """The token is malformed, signed by another key, or modified."""


class SigningKey:
    def __init__(self, path: Path) -> None:
        """Read the key at `path`, or create it there."""
        try:
            key = serialization.load_pem_private_key(path.read_bytes(), password=None)
        except FileNotFoundError:
            key = ec.generate_private_key(ec.SECP256R1())
            encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
            write_private(path, key.private_bytes(encoding, form, serialization.NoEncryption()))
        if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
            raise ValueError(f"{path} holds a key of another kind: expected ECDSA P-256")
        self._key, self._public = key, key.public_key()
        encoded = self._public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.key_id = _encode(sha256(encoded).digest())
        self._header = _encode(msgspec.json.encode({"alg": ALGORITHM, "kid": self.key_id}))

    def sign(self, claims: dict[str, Any]) -> str:
        signed = f"{self._header}.{_encode(msgspec.json.encode(claims, order='deterministic'))}"
        first, second = decode_dss_signature(self._key.sign(signed.encode(), _ECDSA))
        return f"{signed}.{_encode(first.to_bytes(_HALF, 'big') + second.to_bytes(_HALF, 'big'))}"

    def verify(self, token: str) -> dict[str, Any]:
        """The claims of a token signed with this key."""
        header, _, rest = token.partition(".")
        payload, _, signature = rest.partition(".")
        if header != self._header:  # all headers made with this key are equal
            raise BadTokenError("signed with another key")
        try:
            raw = _decode(signature)
            if len(raw) != 2 * _HALF:
                raise BadTokenError("malformed signature")
            numbers = int.from_bytes(raw[:_HALF], "big"), int.from_bytes(raw[_HALF:], "big")
            self._public.verify(encode_dss_signature(*numbers), f"{header}.{payload}".encode(), _ECDSA)
            return msgspec.json.decode(_decode(payload), type=dict[str, Any])
        except (InvalidSignature, ValueError, msgspec.DecodeError) as error:
            raise BadTokenError(str(error) or "wrong signature") from None

    def as_jwk(self) -> dict[str, str]:
        numbers = self._public.public_numbers()
        return {
            "use": "sig",
            "kty": "EC",
            "kid": self.key_id,
            "crv": "P-256",
            "alg": ALGORITHM,
            "x": _encode(numbers.x.to_bytes(_HALF, "big")),
            "y": _encode(numbers.y.to_bytes(_HALF, "big")),
        }


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
