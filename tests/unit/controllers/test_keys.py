# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_ssh_public_key,
)

from springtide.controllers.keys import key_pair


def test_a_pair_fits_and_no_two_are_alike() -> None:
    private, public = key_pair()
    made = load_pem_private_key(private, None).public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    assert load_ssh_public_key(public).public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) == made
    assert public.endswith(b"\n")
    assert key_pair()[0] != private
