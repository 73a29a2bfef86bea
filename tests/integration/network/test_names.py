# SPDX-License-Identifier: Apache-2.0
"""Names as programs in pods look them up: by libc, and by DNS itself."""

from __future__ import annotations

import textwrap

from tests.integration.network.conftest import Network, service

WORKERS = [(f"10.244.3.{number}", f"worker-{number}") for number in range(2, 102)]
LOOKING = textwrap.dedent("""
    import socket
    def look(name, family=socket.AF_INET):
        try:
            found = {entry[4][0] for entry in socket.getaddrinfo(name, 80, family, socket.SOCK_STREAM)}
            print(name, *sorted(found))
        except socket.gaierror as problem:
            print(name, problem.errno)
""")
RAW = textwrap.dedent("""
    import socket
    from springtide.local.network.names import dns
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(20)
    sock.connect(("10.96.0.10", 53))
    def ask(name, kind):
        sock.send(dns.query(7, name, kind))
        return sock.recv(65535)
""")


def test_libc_finds_services_pods_and_headless_names(network: Network) -> None:
    network.services(
        service("web", "10.96.7.1"),
        service("jobs", endpoints=[("10.244.1.5", "worker-0"), ("10.244.1.6", "worker-1")]),
        service("db", "10.96.7.9", namespace="other"),
    )
    names = "web", "web.default", "db.other", "db.other.svc.cluster.local", "jobs", "worker-1.jobs"
    code = LOOKING + "".join(f"look({name!r})\n" for name in names)
    assert network.pod("10.244.1.2", code).said().splitlines() == [
        "web 10.96.7.1",
        "web.default 10.96.7.1",
        "db.other 10.96.7.9",
        "db.other.svc.cluster.local 10.96.7.9",
        "jobs 10.244.1.5 10.244.1.6",
        "worker-1.jobs 10.244.1.6",
    ]


def test_libc_is_content_with_names_that_have_no_ipv6_address(network: Network) -> None:
    network.services(service("web", "10.96.7.1"))
    code = LOOKING + "look('web', socket.AF_UNSPEC)\nlook('web', socket.AF_INET6)\n"
    assert network.pod("10.244.1.2", code).said().splitlines() == ["web 10.96.7.1", "web -5"]  # EAI_NODATA


def test_names_back_from_addresses(network: Network) -> None:
    network.services(service("jobs", endpoints=[("10.244.1.5", "worker-0")]))
    code = "import socket; print(socket.gethostbyaddr('10.244.1.5')[0])"
    assert network.pod("10.244.1.2", code).said() == "worker-0.jobs.default.svc.cluster.local\n"


def test_an_answer_too_long_for_a_datagram_comes_by_tcp(network: Network) -> None:
    network.services(service("jobs", endpoints=WORKERS))
    code = LOOKING + "look('jobs')"
    said = network.pod("10.244.1.2", code).said().split()
    assert len(said) == 101


def test_answers_as_they_come(network: Network) -> None:
    network.services(service("web", "10.96.7.1"))
    code = RAW + textwrap.dedent("""
        SVC = "default.svc.cluster.local"
        for name, kind in (f"web.{SVC}", dns.A), (f"web.{SVC}", dns.AAAA), (f"no.{SVC}", dns.A), ("example.com", dns.A):
            code, records = dns.parse_answer(ask(name, kind))
            print(code, [socket.inet_ntoa(record.data) for record in records])
    """)
    said = network.pod("10.244.1.2", code).said().splitlines()
    # Found; there but without such an address; not there; not ours, and no way out to ask others.
    assert said == ["0 ['10.96.7.1']", "0 []", "3 []", "5 []"]


def test_no_packet_ends_the_server(network: Network) -> None:
    network.services(service("web", "10.96.7.1"))
    code = RAW + textwrap.dedent("""
        import random, struct
        good = dns.query(7, "web.default.svc.cluster.local", dns.A)
        chance = random.Random(4)
        for _ in range(2000):
            bad = bytearray(good)
            for _ in range(chance.randrange(1, 8)):
                bad[chance.randrange(len(bad))] = chance.randrange(256)
            sock.send(bytes(bad[: chance.randrange(len(bad) + 1)]))
        stream = socket.create_connection(("10.96.0.10", 53))
        stream.sendall(struct.pack("!H", 500) + bytes(500) + b"\\xff")
        sock.close()
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.settimeout(20)
        sock.connect(("10.96.0.10", 53))
        print(dns.parse_answer(ask("web.default.svc.cluster.local", dns.A))[0])
    """)
    assert network.pod("10.244.1.2", code).said() == "0\n"
    assert "Traceback" not in (network.data_dir / "holder.log").read_text()
