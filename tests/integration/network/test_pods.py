# SPDX-License-Identifier: Apache-2.0
"""Pods on the network: own addresses and ports, names, services, and a holder that may be killed."""

from __future__ import annotations

import textwrap

from tests.integration.network.conftest import Network, service

ECHO = textwrap.dedent("""
    import socket, sys, threading
    listener = socket.create_server(("0.0.0.0", 23456))
    print("listening", flush=True)
    def serve(peer):
        while data := peer.recv(65536):
            peer.sendall(ADDRESS.encode() + b" heard " + data)
        peer.close()
    while True:
        threading.Thread(target=serve, args=[listener.accept()[0]], daemon=True).start()
""")


def asking(host: str, port: int, words: str = "hello") -> str:
    return textwrap.dedent(f"""
        import socket
        with socket.create_connection(("{host}", {port}), 5) as peer:
            peer.sendall(b"{words}")
            print(peer.recv(1000).decode())
    """)


def test_two_pods_listen_on_one_port_and_are_reached_by_a_third(network: Network) -> None:
    for address in ("10.244.1.2", "10.244.1.3"):
        assert network.pod(address, ECHO).line() == "listening"
    said = network.pod("10.244.2.2", asking("10.244.1.2", 23456) + asking("10.244.1.3", 23456)).said()
    assert said.splitlines() == ["10.244.1.2 heard hello", "10.244.1.3 heard hello"]


def test_a_service_address_leads_to_its_endpoints_in_turn(network: Network) -> None:
    targets = [("10.244.1.2", 23456), ("10.244.1.3", 23456)]
    for address, _ in targets:
        assert network.pod(address, ECHO).line() == "listening"
    network.services(service("web", "10.96.7.1", ports=[("http", "TCP", 80, targets)]))
    said = network.pod("10.244.2.2", asking("web", 80) * 4).said()
    assert sorted(said.splitlines()) == ["10.244.1.2 heard hello"] * 2 + ["10.244.1.3 heard hello"] * 2
