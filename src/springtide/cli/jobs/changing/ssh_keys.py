# SPDX-License-Identifier: Apache-2.0
"""New SSH keys for a job, in the formats of Arena's."""

from __future__ import annotations

from typing import Final

from springtide.manifests.submissions.submission import SshKeys

_EXPONENT: Final = 65537
_BITS: Final = 2048


def made() -> SshKeys:
    # Imported here because it is slow, and few commands make keys.
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: PLC0415

    key = rsa.generate_private_key(_EXPONENT, _BITS)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return SshKeys(private=private, public=public + b"\n")
