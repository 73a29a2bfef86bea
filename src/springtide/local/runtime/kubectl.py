#!/usr/bin/env -S python3 -I -S
# SPDX-License-Identifier: Apache-2.0
"""The small kubectl that pods find at the end of their PATH, for launchers whose image would have contained one.

It supports `exec`, `get pods` and `version`. For an exec it sends the usual request to the API server, then presents
the ticket from the answer to the target's shim and passes its own standard streams, so that no process that could be
restarted lies between the command and its launcher. One file, standard library only, Python 3.9 or newer: `python3 -I
-S kubectl.py`.
"""

from __future__ import annotations

import array
import base64
import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import socket
import ssl
import sys
import termios
import time
import tty
from urllib.parse import quote, urlencode, urlsplit

TYPE_CHECKING = False  # importing `typing` and `http.client` would double the start time
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

TICKETS = os.environ.get("SPRINGTIDE_EXEC_DIR", "/run/springtide/exec")
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
PATIENCE = 30.0  # seconds to wait for an API server that is restarting
KNOWN = "the built-in kubectl supports exec, get pods and version; install kubectl in the environment for anything else"


class Failed(Exception):
    """The message that is printed before the program exits with 1."""


class Refused(Failed):
    """The API server rejected the request."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(f"Error from server ({reason}): {message}" if reason else f"Error from server: {message}")
        self.message = message


class Busy(Exception):
    """The API server cannot answer now; the request may succeed if it is retried."""


# The command line

_SWITCHES = {"-i": "stdin", "--stdin": "stdin", "-t": "tty", "--tty": "tty", "-q": "quiet", "--quiet": "quiet",
             "-A": "all", "--all-namespaces": "all", "--client": "client", "--no-headers": "bare",
             "--insecure-skip-tls-verify": "insecure"}  # fmt: skip
_VALUES = {"-n": "namespace", "--namespace": "namespace", "-c": "container", "--container": "container",
           "-o": "output", "--output": "output", "-l": "selector", "--selector": "selector", "-s": "server",
           "--server": "server", "--token": "token", "--kubeconfig": "kubeconfig", "--context": "context",
           "--request-timeout": "", "--pod-running-timeout": "", "-v": "", "--v": ""}  # fmt: skip


class Asked:
    """A command line: the verb, its options, and the remaining arguments."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.switches: dict[str, bool] = {}
        self.values: dict[str, str] = {}
        self.words: list[str] = []
        rest = list(arguments)
        while rest:
            word = rest.pop(0)
            if word == "--":
                self.words += rest
                return
            if word.startswith("-") and word != "-":
                self._option(word, rest)
                continue
            self.words.append(word)
            if self.words[0] == "exec" and len(self.words) == 3:  # old rsh agents leave out the `--`
                self.words += rest
                return

    def _option(self, word: str, rest: list[str]) -> None:
        name, equals, value = word.partition("=")
        if name in _SWITCHES:
            self.switches[_SWITCHES[name]] = value != "false"
        elif name in _VALUES:
            if not equals and not rest:
                raise Failed(f"flag needs an argument: {word}")
            self.values[_VALUES[name]] = value if equals else rest.pop(0)
        elif name[:2] in _SWITCHES and not name.startswith("--"):  # -it
            self.switches[_SWITCHES[name[:2]]] = True
            self._option("-" + word[2:], rest)
        elif name[:2] in _VALUES and not name.startswith("--"):  # -nspace
            self.values[_VALUES[name[:2]]] = word[2:]
        else:
            raise Failed(f"unknown flag: {word}; {KNOWN}")

    def on(self, name: str) -> bool:
        return self.switches.get(name, False)


# Connections to the API server


class Access:
    """The address of an API server, its TLS context and the credentials."""

    def __init__(
        self, server: str, tls: ssl.SSLContext, namespace: str, *, token: str = "", token_file: str = ""
    ) -> None:
        self.server, self.tls, self.namespace = server, tls, namespace
        self.token, self.token_file = token, token_file

    def bearer(self) -> str:
        """The token; read from its file each time, because the token in a pod is renewed before it expires."""
        return self.token or (_text(self.token_file).strip() if self.token_file else "")


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def access(asked: Asked) -> Access:
    """From the kubeconfig if one is named, otherwise as the pod's service account; flags override both."""
    path = asked.values.get("kubeconfig") or os.environ.get("KUBECONFIG", "").split(":")[0]
    found = _from_kubeconfig(path, asked) if path else _in_cluster(asked)
    for name in ("server", "namespace", "token"):
        if asked.values.get(name):
            setattr(found, name, asked.values[name])
    return found


def _in_cluster(asked: Asked) -> Access:
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host and "server" not in asked.values:
        raise Failed("neither KUBECONFIG nor KUBERNETES_SERVICE_HOST is set: there is no cluster to ask")
    authority = _text(f"{ACCOUNT}/ca.crt")
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    namespace = _text(f"{ACCOUNT}/namespace").strip() or "default"
    return Access(server, _tls(authority, asked.on("insecure")), namespace, token_file=f"{ACCOUNT}/token")


def _from_kubeconfig(path: str, asked: Asked) -> Access:
    text = _text(path)
    if not text:
        raise Failed(f"kubeconfig {path} is missing or empty")
    config = read_config(text)
    context = _named(config, "context", asked.values.get("context") or config.get("current-context", ""))
    cluster, user = _named(config, "cluster", context["cluster"]), _named(config, "user", context.get("user", ""))
    beside = os.path.dirname(os.path.abspath(path))
    insecure = asked.on("insecure") or str(cluster.get("insecure-skip-tls-verify", "")).lower() == "true"
    tls = _tls(_part(cluster, "certificate-authority", beside), insecure)
    certificate, key = _part(user, "client-certificate", beside), _part(user, "client-key", beside)
    if certificate and key:
        _show(tls, certificate, key)
    token_file = os.path.join(beside, user["tokenFile"]) if user.get("tokenFile") else ""
    namespace = context.get("namespace") or "default"
    return Access(cluster["server"], tls, namespace, token=user.get("token", ""), token_file=token_file)


def _named(config: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
    for entry in config.get(f"{kind}s") or ():
        if entry.get("name") == name:
            return entry.get(kind) or {}
    raise Failed(f'{kind} "{name}" does not exist in the kubeconfig')


def _part(section: dict[str, Any], name: str, beside: str) -> str:
    """The content of a file that is embedded in the configuration (`NAME-data`) or referenced by it."""
    if section.get(f"{name}-data"):
        return base64.b64decode(section[f"{name}-data"]).decode()
    return _text(os.path.join(beside, section[name])) if section.get(name) else ""


def _tls(authority: str, insecure: bool) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=authority or None)
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _show(context: ssl.SSLContext, certificate: str, key: str) -> None:
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f".kubectl-{os.getpid()}-{time.monotonic_ns()}")
    # OpenSSL reads keys only from files.
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(certificate + "\n" + key)
    try:
        context.load_cert_chain(path)
    finally:
        os.unlink(path)


def read_config(text: str) -> dict[str, Any]:
    """Parse a kubeconfig: JSON, or the subset of YAML that kubectl and `tide` write."""
    if text.lstrip().startswith("{"):
        parsed = json.loads(text)
    else:
        lines = [line for line in text.splitlines() if line.strip() and line.strip()[0] not in "#" and line != "---"]
        parsed = _block([(len(line) - len(line.lstrip()), line.strip()) for line in lines], 0)[0]
    if not isinstance(parsed, dict):
        raise Failed("the kubeconfig is not a mapping")
    return parsed


def _block(lines: list[tuple[int, str]], at: int) -> tuple[Any, int]:
    """The mapping or sequence that begins at line `at`, and the index of the line after it."""
    depth, first = lines[at]
    items: list[Any] = []
    mapping: dict[str, Any] = {}
    while at < len(lines) and lines[at][0] == depth and lines[at][1].startswith("- ") == first.startswith("- "):
        text = lines[at][1]
        if text.startswith("- "):
            item = text[1:].lstrip()
            lines[at] = (depth + len(text) - len(item), item)
            value, at = _block(lines, at)
            items.append(value)
            continue
        key, _, value = text.partition(":")
        at += 1
        mapping[_scalar(key)] = value = _scalar(value.strip())
        deeper = at < len(lines) and (lines[at][0] > depth or (lines[at][0] == depth and lines[at][1].startswith("- ")))
        if not value and deeper:
            mapping[_scalar(key)], at = _block(lines, at)
    return (items if first.startswith("- ") else mapping), at


def _scalar(text: str) -> Any:
    if text in ("{}", "[]", "null", "~"):
        return {"{}": {}, "[]": []}.get(text)
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


# Requests


def ask(to: Access, method: str, path: str, headers: dict[str, str]) -> dict[str, Any]:
    """An object from the API server. Requests to a server that is restarting are retried for a while."""
    until, pause = time.monotonic() + PATIENCE, 0.1
    while True:
        try:
            return _ask_once(to, method, path, headers, max(1.0, until - time.monotonic()))
        except (OSError, Busy) as problem:
            if isinstance(problem, ssl.SSLCertVerificationError) or time.monotonic() + pause > until:
                raise Failed(f"the API server at {to.server} does not answer: {problem}") from None
        time.sleep(pause)
        pause = min(1.0, pause * 2)


def _ask_once(to: Access, method: str, path: str, headers: dict[str, str], timeout: float) -> dict[str, Any]:
    parts = urlsplit(to.server)
    host, secure = parts.hostname or "", parts.scheme != "http"
    sent = {"Host": parts.netloc, "Accept": "application/json", "Content-Length": "0", **headers}
    if bearer := to.bearer():
        sent["Authorization"] = f"Bearer {bearer}"
    # HTTP/1.0: one answer, not chunked, and then the end of the connection.
    lines = [f"{method} {parts.path.rstrip('/')}{path} HTTP/1.0", *(f"{name}: {text}" for name, text in sent.items())]
    with socket.create_connection((host, parts.port or (443 if secure else 80)), timeout) as plain:
        connection = to.tls.wrap_socket(plain, server_hostname=host) if secure else plain
        with connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            text = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    head, _, body = text.partition(b"\r\n\r\n")
    return _read(int(head.split()[1]) if head.startswith(b"HTTP/1.") else 0, body)


def _read(code: int, body: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(body)
        message, reason = str(answer.get("message", "")), str(answer.get("reason", ""))
    except (ValueError, AttributeError):
        answer, message, reason = None, body.decode(errors="replace").strip() or f"it answered with {code}", ""
    if code in (0, 429, 502, 503, 504) or (code < 400 and answer is None):  # cut short, or temporarily unavailable
        raise Busy(message or "it broke off")
    if code >= 400:
        raise Refused(reason, message)
    return dict(answer)


# exec


def execute(asked: Asked) -> int:
    if len(asked.words) < 2:
        raise Failed("pod, type/name or --filename must be specified")
    kind, slash, name = asked.words[1].rpartition("/")
    argv = asked.words[2:]
    if slash and kind not in ("pod", "pods", "po"):
        raise Failed(f"{asked.words[1]} is no pod; {KNOWN}")
    if not argv:
        raise Failed("you must specify at least one command for the container")
    to = access(asked)
    terminal = asked.on("tty")
    if terminal and asked.on("stdin") and not os.isatty(0):
        print("Unable to use a TTY - input is not a terminal or the right kind of file", file=sys.stderr)
        terminal = False
    ticket = _ticket(to, name, asked, argv, terminal)
    with _connected(ticket["socket"]) as channel:
        code = _on_terminal(channel, ticket, asked.on("stdin")) if terminal else _directly(channel, ticket, asked)
    if code:
        print(f"command terminated with exit code {code}", file=sys.stderr)
    return code


def _ticket(to: Access, pod: str, asked: Asked, argv: list[str], terminal: bool) -> dict[str, Any]:
    path = f"/api/v1/namespaces/{quote(to.namespace)}/pods/{quote(pod)}"
    query = [("stdout", "true"), ("stderr", "true"), *(("command", word) for word in argv)]
    query += [(name, "true") for name, on in (("stdin", asked.on("stdin")), ("tty", terminal)) if on]

    headers = {"X-Springtide-Direct": "1"}
    if own := _text(f"{TICKETS}/pod").strip():  # this pod, into which the target's socket is mounted
        headers["X-Springtide-Pod"] = own

    def with_container(name: str) -> dict[str, Any]:
        wanted = [("container", name), *query] if name else query
        return ask(to, "POST", f"{path}/exec?{urlencode(wanted)}", headers)

    try:
        answer = with_container(asked.values.get("container", ""))
    except Refused as refused:
        if not refused.message.startswith("a container name must be specified"):
            raise
        answer = with_container(_default_container(ask(to, "GET", path, {}), asked.on("quiet")))
    if "ticket" not in answer:
        raise Failed(f"this cluster gives out no tickets; {KNOWN}")
    return answer


def _default_container(pod: dict[str, Any], quiet: bool) -> str:
    annotations = pod["metadata"].get("annotations") or {}
    names = [container["name"] for container in pod["spec"]["containers"]]
    chosen = annotations.get("kubectl.kubernetes.io/default-container")
    if chosen in names:
        return str(chosen)
    if len(names) > 1 and not quiet:
        others = [c["name"] + " (init)" for c in pod["spec"].get("initContainers") or ()]
        print(f'Defaulted container "{names[0]}" out of: {", ".join(names + others)}', file=sys.stderr)
    return str(names[0])


@contextlib.contextmanager
def _connected(name: str) -> Iterator[socket.socket]:
    directory = os.open(TICKETS, os.O_RDONLY | os.O_DIRECTORY)
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # A socket's path may have 107 bytes, and TICKETS alone may be longer.
        channel.connect(f"/proc/self/fd/{directory}/{name}" if os.path.isdir("/proc/self/fd") else f"{TICKETS}/{name}")
        yield channel
    except (ConnectionRefusedError, FileNotFoundError):
        raise Failed("the pod has ended") from None
    finally:
        channel.close()
        os.close(directory)


def _hand_over(channel: socket.socket, ticket: dict[str, Any], streams: Sequence[int]) -> None:
    line = json.dumps({"ticket": ticket["ticket"], "takes_terminal": len(streams) == 1}).encode() + b"\n"
    channel.sendmsg([line], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", streams))])


class Answers:
    """The shim's messages about a command: that it has started or failed, and finally its exit code."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel, self._text = channel, b""
        self.terminals: list[int] = []
        """The command's terminal in its pod, once it runs; empty where it uses the terminal that was passed."""

    def look(self) -> int | None:
        """Wait for the next messages; returns the exit code when it is among them."""
        data, terminals, _, _ = socket.recv_fds(self._channel, 1 << 16, 1)
        self.terminals += terminals
        if not data:
            raise Failed("the connection to the pod was lost: its shim has ended")
        *lines, self._text = (self._text + data).split(b"\n")
        for answer in map(json.loads, lines):
            if "error" in answer:
                raise Failed(f"Internal error occurred: error executing command in container: {answer['error']}")
            if "exited" in answer:
                return int(answer["exited"])
        return None


def _directly(channel: socket.socket, ticket: dict[str, Any], asked: Asked) -> int:
    nowhere = os.open(os.devnull, os.O_RDWR)
    _hand_over(channel, ticket, [0 if asked.on("stdin") else nowhere, 1, 2])
    os.close(nowhere)
    answers, code = Answers(channel), None
    while code is None:
        code = answers.look()
    return code


def _on_terminal(channel: socket.socket, ticket: dict[str, Any], interactive: bool) -> int:
    """Run a command on a terminal. A terminal in the pod cannot be ours, which already has a session: a second terminal
    is opened and data is copied between the two."""
    ours, theirs = pty.openpty()
    _copy_size(ours)
    _hand_over(channel, ticket, [theirs])
    os.close(theirs)
    with _raw_keyboard(interactive):
        answers = Answers(channel)
        code = answers.look()
        terminal = answers.terminals[0] if answers.terminals else ours
        signal.signal(signal.SIGWINCH, lambda *_: _copy_size(terminal))
        _copy_size(terminal)  # the size may have changed meanwhile
        return _relay(terminal, channel, answers, code, interactive)


def _relay(terminal: int, channel: socket.socket, answers: Answers, code: int | None, interactive: bool) -> int:
    sources = [terminal, channel.fileno(), *([0] if interactive else [])]
    while True:
        # The command's last output is shown before its exit code is returned.
        ready = select.select(sources, [], [], None if code is None else 0.1)[0]
        for source, target in ((terminal, 1), (0, terminal)):
            if source in ready and not _copy(source, target):
                sources.remove(source)
        if code is not None and (terminal not in ready or terminal not in sources):
            return code
        if code is None and channel.fileno() in ready:
            code = answers.look()


def _copy(source: int, target: int) -> bool:
    try:
        data = os.read(source, 1 << 16)
    except OSError:  # EIO: the other end of the terminal is closed everywhere
        return False
    left = data
    while left:
        left = left[os.write(target, left) :]
    return bool(data)


def _copy_size(terminal: int) -> None:
    with contextlib.suppress(OSError):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, fcntl.ioctl(1, termios.TIOCGWINSZ, bytes(8)))


@contextlib.contextmanager
def _raw_keyboard(interactive: bool) -> Iterator[None]:
    """Every key is passed to the command, Ctrl-C included."""
    if not interactive or not os.isatty(0):
        yield
        return
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSANOW, before)


# get, version


def get(asked: Asked) -> int:
    kind, _, name = (asked.words[1] if len(asked.words) > 1 else "").partition("/")
    if kind not in ("pod", "pods", "po"):
        raise Failed(f'cannot get "{kind}"; {KNOWN}')
    to, output = access(asked), asked.values.get("output", "")
    names = [name] if name else asked.words[2:]
    base = "/api/v1/pods" if asked.on("all") else f"/api/v1/namespaces/{quote(to.namespace)}/pods"
    query = "?" + urlencode({"labelSelector": asked.values["selector"]}) if "selector" in asked.values else ""
    paths = [f"{base}/{quote(name)}" for name in names] or [base + query]
    if output in ("", "wide"):
        table = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
        _print_tables([ask(to, "GET", path, table) for path in paths], output == "wide", asked.on("bare"))
        return 0
    answers = [ask(to, "GET", path, {}) for path in paths]
    if output == "json":
        whole = answers[0] if len(answers) == 1 else {"kind": "List", "apiVersion": "v1", "items": answers}
        print(json.dumps(whole, indent=4))
    elif output == "name":
        for pod in (pod for answer in answers for pod in answer.get("items", [answer])):
            print(f"pod/{pod['metadata']['name']}")
    else:
        raise Failed(f"output {output} is not known; {KNOWN}")
    return 0


def _print_tables(tables: list[dict[str, Any]], wide: bool, bare: bool) -> None:
    columns = tables[0]["columnDefinitions"]
    shown = [index for index, column in enumerate(columns) if wide or not column.get("priority")]
    rows = [row["cells"] for table in tables for row in table.get("rows") or ()]
    if not rows:
        print("No resources found", file=sys.stderr)
        return
    lines = [] if bare else [[columns[index]["name"].upper() for index in shown]]
    lines += [[str(cells[index]) for index in shown] for cells in rows]
    widths = [max(len(line[at]) for line in lines) + 3 for at in range(len(shown))]
    for line in lines:
        print("".join(cell.ljust(widths[at]) for at, cell in enumerate(line)).rstrip())


def version(asked: Asked) -> int:
    print("Client Version: springtide (built in)")
    return 0


VERBS = {"exec": execute, "get": get, "version": version}


def main(arguments: Sequence[str]) -> int:
    try:
        asked = Asked(arguments)
        verb = asked.words[0] if asked.words else ""
        if verb not in VERBS:
            raise Failed(f'unknown command "{verb}" for "kubectl"; {KNOWN}' if verb else KNOWN)
        return VERBS[verb](asked)
    except Failed as problem:
        print(problem if isinstance(problem, Refused) else f"error: {problem}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of the output has closed it
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
