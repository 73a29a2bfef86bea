# SPDX-License-Identifier: Apache-2.0
"""Generates SSH key pairs for launchers."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat


def key_pair() -> tuple[bytes, bytes]:
    """A private key in PEM, a format that every ssh client reads, and its line of authorized_keys."""
    private = ec.generate_private_key(ec.SECP521R1())
    public = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return private.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()), public + b"\n"
