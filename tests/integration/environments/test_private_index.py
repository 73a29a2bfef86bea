# SPDX-License-Identifier: Apache-2.0
"""A package index behind a private certificate authority that only pip is configured for: uv installs from it, too.

The index, pip and uv are real. `pip.conf` is the only file that names the index and its authority.
"""

from __future__ import annotations

import http.server
import os
import shutil
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from springtide.local.access.pki import Authority, server_pair
from springtide.local.environments.pip_settings import settings, uv_variables

ROOT = Path(__file__).parents[3]
UV = shutil.which("uv") or str(ROOT / ".venv-uv/bin/uv")
BACKEND = """
import base64, hashlib, zipfile

def get_requires_for_build_editable(config_settings=None):
    return []

def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    name = "product-1-py3-none-any.whl"
    with zipfile.ZipFile(f"{wheel_directory}/{name}", "w") as archive:
        for file, text in {
            "METADATA": "Metadata-Version: 2.1\\nName: product\\nVersion: 1\\n",
            "WHEEL": "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
            "RECORD": "",
        }.items():
            archive.writestr(f"product-1.dist-info/{file}", text)
    return name
"""
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "product"
version = "1"

[dependency-groups]
demo = ["greeting"]
"""


@pytest.fixture
def home(tmp_path: Path, wheel: Path) -> Iterator[Path]:
    """A home directory whose pip.conf leads to an index that serves the wheel."""
    authority = Authority(tmp_path / "pki", datetime.now(UTC))
    (tmp_path / "company-ca.pem").write_bytes(authority.certificate)
    shelf = tmp_path / "www/simple/greeting"
    shelf.mkdir(parents=True)
    shutil.copy(wheel, shelf)
    (shelf / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>')

    class Files(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(tmp_path / "www"))  # type: ignore[arg-type]

        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(server_pair(authority).path)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        conf = tmp_path / "home/.config/pip/pip.conf"
        conf.parent.mkdir(parents=True)
        conf.write_text(
            f"[global]\nindex-url = https://localhost:{server.server_port}/simple\n"
            f"cert = {tmp_path / 'company-ca.pem'}\n"
        )
        yield tmp_path / "home"
        server.shutdown()
        thread.join()


def bare(home: Path) -> dict[str, str]:
    """An environment in which nothing but files in `home` is configured."""
    programs = f"{Path(UV).parent}{os.pathsep}{os.environ['PATH']}"
    return {"HOME": str(home), "PATH": programs, "UV_CACHE_DIR": str(home / "cache"), "NO_COLOR": "1"}


def run(*command: str | Path, env: Mapping[str, str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], env=env, cwd=cwd, capture_output=True, text=True, check=False)


def test_tide_env_create_installs_from_the_index_that_pip_is_configured_for(home: Path) -> None:
    made = run(sys.executable, "-m", "springtide.cli", "env", "create", "e", "--pip", "greeting", env=bare(home))
    assert made.returncode == 0, made.stderr
    (program,) = (home / ".local/share/springtide/environments/e").glob("*/bin/greet")
    assert run(program, env={}).stdout == "hello\n"


def test_uv_alone_does_not_find_the_index(home: Path) -> None:
    """Without this, the others show nothing."""
    environment = bare(home)
    assert run(UV, "venv", "--python", sys.executable, home / "e", env=environment).returncode == 0
    install = (UV, "pip", "install", "--python", home / "e/bin/python", "greeting")
    only_index = {name: uv_variables(environment)[name] for name in ("UV_DEFAULT_INDEX",)}
    assert "UnknownIssuer" in run(*install, env=environment | only_index).stderr
    assert run(*install, env=environment | uv_variables(environment)).returncode == 0


def test_make_installs_from_the_index_that_pip_is_configured_for(home: Path, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    settings_file = "src/springtide/local/environments/pip_settings.py"
    (checkout / settings_file).parent.mkdir(parents=True)
    shutil.copytree(ROOT / "hack", checkout / "hack")
    for name in ("Makefile", settings_file):
        shutil.copy(ROOT / name, checkout / name)
    (checkout / "pyproject.toml").write_text(PROJECT)
    (checkout / "backend.py").write_text(BACKEND)
    (checkout / "constraints.txt").touch()
    made = run("make", ".venv/.ready-demo", env=bare(home) | {"PYTHON": sys.executable}, cwd=checkout)
    assert made.returncode == 0, made.stdout + made.stderr
    assert run(checkout / ".venv/bin/greet", env={}).stdout == "hello\n"


FILES = {
    ".config/pip/pip.conf": "[global]\nindex_url = https://one/simple\ntrusted-host = one\n  two\nproxy = p:1\n"
    "[install]\nextra-index-url =\n  https://a/simple\n  https://b/simple\n",
    ".pip/pip.conf": "[global]\nindex-url = https://older/simple\ncert = /older.pem\n",
    "chosen.conf": "[global]\nindex-url = https://chosen/simple\n",
}


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"PIP_INDEX_URL": "https://variable/simple", "PIP_EXTRA_INDEX_URL": "https://c/simple"},
        {"PIP_CONFIG_FILE": "{home}/chosen.conf"},
        {"PIP_CONFIG_FILE": "{home}/not-there.conf"},
        {"PIP_CONFIG_FILE": os.devnull},
        {"XDG_CONFIG_DIRS": "{home}/.config:{home}"},
    ],
    ids=str,
)
def test_configuration_is_read_as_pip_reads_it(tmp_path: Path, variables: dict[str, str]) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environment |= {name: value.format(home=tmp_path) for name, value in variables.items()}
    python = os.path.realpath(sys.executable)
    judge = run(python, "-m", "pip", "config", "list", env=environment)
    if "No module named pip" in judge.stderr:
        pytest.skip("this Python has no pip to compare with")
    lines = [line.partition("=") for line in judge.stdout.splitlines()]
    said = {key.partition(".")[::2]: value.strip("'").replace("\\n", " ").split() for key, _, value in lines}
    expected: dict[str, list[str]] = {}
    for wanted in ("global", "install", ":env:"):
        expected |= {option: words for (section, option), words in said.items() if section == wanted}
    expected.pop("config-file", None)
    found = settings(environment, sys.base_prefix)
    found.pop("config-file", None)
    assert {option: words.split() for option, words in found.items()} == expected
