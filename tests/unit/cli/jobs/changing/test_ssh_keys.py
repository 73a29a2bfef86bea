# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from springtide.cli.jobs.changing import ssh_keys


def test_keys_are_a_pair_that_openssh_reads() -> None:
    keys = ssh_keys.made()
    private = serialization.load_pem_private_key(keys.private, None)
    assert isinstance(private, rsa.RSAPrivateKey)
    assert private.key_size == 2048
    assert keys.private.startswith(b"-----BEGIN RSA PRIVATE KEY-----\n")
    assert serialization.load_ssh_public_key(keys.public) == private.public_key()
    assert keys.public.endswith(b"\n")
    assert "PRIVATE" not in repr(keys)
