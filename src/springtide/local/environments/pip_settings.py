# SPDX-License-Identifier: Apache-2.0
"""pip's configuration as variables for uv.

uv reads neither `pip.conf` nor `PIP_*`: on a machine whose package index, proxy or certificate authority is configured
for pip alone, pip installs and uv fails with `UnknownIssuer`. What is set for uv itself (`UV_*`, `SSL_CERT_FILE`,
`uv.toml`) is left as it is. Files are read in pip's order of precedence; one that cannot be read or parsed counts as
empty.

Standard library only, and runnable as a file: the Makefile needs the variables before anything is installed, and
evaluates the `export` lines that this file prints.
"""

from __future__ import annotations

import configparser
import os
import shlex
import ssl
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_SECTIONS = ("global", "install")
_CHOSEN_INDEX = ("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS")
_CHOSEN_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "UV_SYSTEM_CERTS", "UV_NATIVE_TLS")
_CHOSEN_PROXY = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "all_proxy", "https_proxy", "http_proxy")
_INDEX_KEYS = {"index", "index-url", "extra-index-url", "find-links", "no-index"}


def uv_variables(environ: Mapping[str, str], prefix: str = sys.prefix) -> dict[str, str]:
    """Variables to add to uv's environment so that it installs from pip's sources; `prefix` is where pip is
    installed."""
    pip = settings(environ, prefix)
    found: dict[str, str] = {}
    if not _any(environ, _CHOSEN_INDEX) and not _uv_has_index(environ):
        found |= _index(pip)
    if not _any(environ, _CHOSEN_CERTIFICATES):
        found |= _certificates(pip, environ)
    if (proxy := pip.get("proxy")) and not _any(environ, _CHOSEN_PROXY):
        url = proxy if "://" in proxy else f"http://{proxy}"
        found |= {"HTTPS_PROXY": url, "HTTP_PROXY": url}
    if (hosts := _words(pip, "trusted-host")) and not environ.get("UV_INSECURE_HOST"):
        found["UV_INSECURE_HOST"] = hosts
    if (client := pip.get("client-cert")) and not environ.get("SSL_CLIENT_CERT"):
        found["SSL_CLIENT_CERT"] = client
    return found


def settings(environ: Mapping[str, str], prefix: str = sys.prefix) -> dict[str, str]:
    """The options that `pip install` would run with, by their long names."""
    sections: dict[str, dict[str, str]] = {name: {} for name in _SECTIONS}
    for file in _files(environ, prefix):
        for name, options in _read(file):
            sections[name] |= options
    found = sections["global"] | sections["install"]
    for name, value in environ.items():
        if name.startswith("PIP_") and value:
            found[_normalized(name.removeprefix("PIP_"))] = value
    return {name: value for name, value in found.items() if value}


def _files(environ: Mapping[str, str], prefix: str) -> Iterator[Path]:
    """Later files override earlier ones."""
    chosen = environ.get("PIP_CONFIG_FILE")
    if chosen == os.devnull:
        return
    home = Path(environ.get("HOME") or Path.home())
    if sys.platform == "darwin":
        support = "Library/Application Support/pip"
        yield Path("/", support, "pip.conf")
        folder = home / support if (home / support).is_dir() else home / ".config/pip"
    else:
        system = (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)
        yield from (Path(each, "pip/pip.conf") for each in system if each)
        folder = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip"
    yield Path("/etc/pip.conf")
    if not (chosen and os.path.exists(chosen)):
        yield home / ".pip/pip.conf"
        yield folder / "pip.conf"
    yield Path(prefix, "pip.conf")
    if chosen:
        yield Path(chosen)


def _read(file: Path) -> Iterator[tuple[str, dict[str, str]]]:
    parser = configparser.RawConfigParser()
    try:
        parser.read(file)
    except (OSError, UnicodeDecodeError, configparser.Error):
        return
    for name in _SECTIONS:
        if parser.has_section(name):
            yield name, {_normalized(option): value for option, value in parser.items(name)}


def _normalized(option: str) -> str:
    return option.lower().replace("_", "-").removeprefix("--")


def _index(pip: Mapping[str, str]) -> dict[str, str]:
    found = {}
    if url := pip.get("index-url"):
        found["UV_DEFAULT_INDEX"] = url
    if more := _words(pip, "extra-index-url"):
        # pip takes the best version of all indexes; uv by default stops at the first one that has any.
        found |= {"UV_INDEX": more, "UV_INDEX_STRATEGY": "unsafe-best-match"}
    links = [link for link in pip.get("find-links", "").split() if "://" in link or os.path.isdir(link)]
    if links:  # pip ignores missing directories, uv fails
        found["UV_FIND_LINKS"] = ",".join(links)
    return found


def _certificates(pip: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """pip trusts its configured file, else the system's certificates; uv by default trusts its own list."""
    file = pip.get("cert") or environ.get("REQUESTS_CA_BUNDLE") or environ.get("CURL_CA_BUNDLE")
    if file:
        return {"SSL_CERT_DIR" if os.path.isdir(file) else "SSL_CERT_FILE": file}
    return {"UV_SYSTEM_CERTS": "true"} if _system_has_certificates() else {}


def _system_has_certificates() -> bool:
    """Without any, as in a minimal container, uv must keep using its own."""
    places = ssl.get_default_verify_paths()
    return sys.platform == "darwin" or bool(places.cafile or (places.capath and os.listdir(places.capath)))


def _uv_has_index(environ: Mapping[str, str]) -> bool:
    """Whether a `uv.toml` configures where packages come from."""
    if environ.get("UV_NO_CONFIG"):
        return False
    home = Path(environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME") or Path.home()) / ".config")
    chosen = environ.get("UV_CONFIG_FILE")
    files = [Path(chosen)] if chosen else [home / "uv/uv.toml", Path("/etc/xdg/uv/uv.toml"), Path("/etc/uv/uv.toml")]
    return any(_INDEX_KEYS & _keys(file) for file in files)


def _keys(file: Path) -> set[str]:
    try:
        said: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    below = said.get("pip")
    return {*said, *(below if isinstance(below, dict) else ())}


def _any(environ: Mapping[str, str], names: tuple[str, ...]) -> bool:
    return any(environ.get(name) for name in names)


def _words(pip: Mapping[str, str], option: str) -> str:
    """Options with several values have one per line in a file."""
    return " ".join(pip.get(option, "").split())


if __name__ == "__main__":
    for variable, text in uv_variables(os.environ).items():
        print(f"export {variable}={shlex.quote(text)}")
