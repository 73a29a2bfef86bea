# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from springtide.local.environments import pip_settings
from springtide.local.environments.pip_settings import uv_variables


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Neither this machine's own configuration nor its certificates count."""
    monkeypatch.setattr(pip_settings, "_system_has_certificates", lambda: False)
    return tmp_path


def variables(home: Path, **environ: str) -> dict[str, str]:
    return uv_variables({"HOME": str(home), **environ}, prefix=str(home))


@pytest.mark.parametrize(
    ("pip", "uv"),
    [
        ({"PIP_INDEX_URL": "https://i/simple"}, {"UV_DEFAULT_INDEX": "https://i/simple"}),
        (
            {"PIP_EXTRA_INDEX_URL": "https://a https://b"},
            {"UV_INDEX": "https://a https://b", "UV_INDEX_STRATEGY": "unsafe-best-match"},
        ),
        ({"PIP_TRUSTED_HOST": "a\nb"}, {"UV_INSECURE_HOST": "a b"}),
        ({"PIP_PROXY": "proxy:3128"}, {"HTTPS_PROXY": "http://proxy:3128", "HTTP_PROXY": "http://proxy:3128"}),
        ({"PIP_CERT": "/ca.pem"}, {"SSL_CERT_FILE": "/ca.pem"}),
        ({"PIP_CERT": "/"}, {"SSL_CERT_DIR": "/"}),
        ({"REQUESTS_CA_BUNDLE": "/ca.pem"}, {"SSL_CERT_FILE": "/ca.pem"}),
        ({"PIP_CLIENT_CERT": "/me.pem"}, {"SSL_CLIENT_CERT": "/me.pem"}),
        ({"PIP_FIND_LINKS": "/ https://w/x /not/there"}, {"UV_FIND_LINKS": "/,https://w/x"}),
        ({"PIP_INDEX_URL": "https://i", "UV_DEFAULT_INDEX": "https://own"}, {}),
        ({"PIP_EXTRA_INDEX_URL": "https://i", "UV_INDEX_URL": "https://own"}, {}),
        ({"PIP_CERT": "/ca.pem", "SSL_CERT_FILE": "/own.pem"}, {}),
        ({"PIP_CERT": "/ca.pem", "UV_SYSTEM_CERTS": "1"}, {}),
        ({"PIP_PROXY": "proxy:3128", "https_proxy": "http://own"}, {}),
        ({"PIP_TRUSTED_HOST": "a", "UV_INSECURE_HOST": "b"}, {}),
        ({}, {}),
    ],
    ids=str,
)
def test_what_pip_has_is_given_to_uv_unless_uv_has_its_own(home: Path, pip: dict[str, str], uv: dict[str, str]) -> None:
    assert variables(home, PIP_CONFIG_FILE="/dev/null", **pip) == uv


def test_the_systems_certificates_are_used_as_pip_uses_them(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pip_settings, "_system_has_certificates", lambda: True)
    assert variables(home, PIP_CONFIG_FILE="/dev/null") == {"UV_SYSTEM_CERTS": "true"}


@pytest.mark.parametrize(
    ("text", "wins"),
    [
        ('[[index]]\nurl = "https://own/simple"\ndefault = true\n', True),
        ('[pip]\nindex-url = "https://own/simple"\n', True),
        ('python-preference = "system"\n', False),
        ("no toml", False),
    ],
)
def test_an_index_in_uv_toml_is_preferred(home: Path, text: str, wins: bool) -> None:
    (home / ".config/uv").mkdir(parents=True)
    (home / ".config/uv/uv.toml").write_text(text)
    found = variables(home, PIP_CONFIG_FILE="/dev/null", PIP_INDEX_URL="https://pips/simple")
    assert ("UV_DEFAULT_INDEX" not in found) is wins


@pytest.mark.parametrize("text", ["no section", "[global]\nindex-url", b"\xff\xfe[global]"])
def test_a_broken_pip_conf_counts_as_empty(home: Path, text: str | bytes) -> None:
    file = home / "broken.conf"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert "UV_DEFAULT_INDEX" not in variables(home, PIP_CONFIG_FILE=str(file))


def test_run_as_a_file_it_prints_what_a_shell_can_evaluate(home: Path) -> None:
    environ = {"HOME": str(home), "PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": "https://me:it's $HOME@i/simple"}
    said = subprocess.run([sys.executable, "-I", pip_settings.__file__], env=environ, capture_output=True, text=True)
    assert shlex.split(said.stdout)[:2] == ["export", f"UV_DEFAULT_INDEX={environ['PIP_INDEX_URL']}"]
