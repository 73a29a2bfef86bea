# SPDX-License-Identifier: Apache-2.0
"""Pods on the network: own addresses and ports, services, and a holder that may be killed."""

from __future__ import annotations

import random
import textwrap
import time

import pytest
from tests.integration.network.conftest import Network, eventually, service

ECHO = textwrap.dedent("""
    import socket, threading
    listener = socket.create_server(("0.0.0.0", 23456), backlog=512)
    print("listening", flush=True)
    def serve(peer):
        heard = b""
        while data := peer.recv(65536):
            heard += data
            if data.endswith(b"?"):
                peer.sendall(ADDRESS.encode() + b" heard " + data)
        peer.sendall(b"%d bytes" % len(heard))
        peer.close()
    while True:
        threading.Thread(target=serve, args=[listener.accept()[0]], daemon=True).start()
""")
UDP_ECHO = textwrap.dedent("""
    import socket
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("0.0.0.0", 5000))
    print("listening", flush=True)
    while True:
        data, peer = sock.recvfrom(65535)
        sock.sendto(ADDRESS.encode() + b" heard " + data, peer)
""")
HOLDING_ON = textwrap.dedent("""
    import socket, sys
    with socket.create_connection(("10.244.1.2", 23456), 5) as peer:
        for line in sys.stdin:
            peer.sendall(line.strip().encode())
            print(peer.recv(1000).decode(), flush=True)
""")
A, B = "10.244.1.2", "10.244.1.3"


def asking(host: str, port: int) -> str:
    return textwrap.dedent(f"""
        import socket
        try:
            with socket.create_connection(("{host}", {port}), 5) as peer:
                peer.sendall(b"hello?")
                print(peer.recv(1000).decode())
        except OSError as problem:
            print(type(problem).__name__)
    """)


def echoing(network: Network, *addresses: str, code: str = ECHO) -> None:
    for address in addresses:
        assert network.pod(address, code).line() == "listening"


def test_two_pods_listen_on_one_port_and_are_reached_by_a_third(network: Network) -> None:
    echoing(network, A, B)
    said = network.pod("10.244.2.2", asking(A, 23456) + asking(B, 23456)).said()
    assert said.splitlines() == ["10.244.1.2 heard hello?", "10.244.1.3 heard hello?"]


def test_an_ordinary_user_may_listen_on_port_80_in_his_pod(network: Network) -> None:
    code = "import socket; socket.create_server(('0.0.0.0', 80)); print('yes')"
    assert network.pod(A, code).said() == "yes\n"


def test_a_service_address_leads_to_its_endpoints_in_turn(network: Network) -> None:
    echoing(network, A, B)
    network.services(service("web", "10.96.7.1", ports=[("http", "TCP", 80, [(A, 23456), (B, 23456)])]))
    said = network.pod("10.244.2.2", asking("web", 80) * 4).said()
    assert sorted(said.splitlines()) == ["10.244.1.2 heard hello?"] * 2 + ["10.244.1.3 heard hello?"] * 2


def test_a_pod_reaches_itself_through_its_own_service(network: Network) -> None:
    network.services(service("web", "10.96.7.1", ports=[("", "TCP", 80, [(A, 23456)])]))
    code = textwrap.dedent("""
        import socket, threading
        listener = socket.create_server(("0.0.0.0", 23456))
        def serve():
            listener.accept()[0].sendall(b"myself")
        threading.Thread(target=serve, daemon=True).start()
        print(socket.create_connection(("web", 80), 5).recv(100).decode())
    """)
    assert network.pod(A, code).said() == "myself\n"


def test_with_client_affinity_a_client_stays_with_its_endpoint(network: Network) -> None:
    echoing(network, A, B)
    network.services(service("web", "10.96.7.1", ports=[("", "TCP", 80, [(A, 23456), (B, 23456)])], affinity=100))
    said = network.pod("10.244.2.2", asking("web", 80) * 4).said().splitlines()
    assert len(said) == 4
    assert len(set(said)) == 1


def test_an_endpoint_that_refuses_is_passed_over(network: Network) -> None:
    echoing(network, A)
    network.services(service("web", "10.96.7.1", ports=[("", "TCP", 80, [(A, 1), (A, 23456)])]))
    assert network.pod("10.244.2.2", asking("web", 80) * 2).said().splitlines() == ["10.244.1.2 heard hello?"] * 2


def test_connections_are_refused_where_nobody_stands_behind_an_address(network: Network) -> None:
    echoing(network, A)
    network.services(service("web", "10.96.7.1", ports=[("", "TCP", 80, [(A, 23456)])]), service("idle", "10.96.7.2"))
    network.services(service("web", "10.96.7.1", ports=[("", "TCP", 80, [])]), service("idle", "10.96.7.2"))
    said = network.pod("10.244.2.2", asking("web", 80) + asking("idle", 80) + asking("10.96.9.9", 80)).said()
    assert said.splitlines() == ["ConnectionRefusedError"] * 3


def test_without_a_way_out_addresses_outside_are_unreachable_at_once(network: Network) -> None:
    code = "import socket; print(socket.socket().connect_ex(('198.51.100.7', 80)))"
    assert network.pod(A, code).said() == "101\n"  # ENETUNREACH, which no time-out would be


def test_a_side_that_has_shut_down_still_hears_the_answer(network: Network) -> None:
    echoing(network, A)
    network.services(service("web", "10.96.7.1", ports=[("", "TCP", 80, [(A, 23456)])]))
    code = textwrap.dedent("""
        import socket
        with socket.create_connection(("web", 80), 30) as peer:
            for _ in range(200):
                peer.sendall(bytes(100_000))
            peer.shutdown(socket.SHUT_WR)
            print(peer.recv(1000).decode())
    """)
    assert network.pod("10.244.2.2", code).said() == "20000000 bytes\n"


def test_hundreds_of_connections_at_once(network: Network) -> None:
    echoing(network, A, B)
    network.services(service("web", "10.96.7.1", ports=[("", "TCP", 80, [(A, 23456), (B, 23456)])]))
    code = textwrap.dedent("""
        import socket
        peers = [socket.create_connection(("web", 80), 30) for _ in range(300)]
        for peer in peers:
            peer.sendall(b"hello?")
        print(sum(peer.recv(100).endswith(b"heard hello?") for peer in peers))
    """)
    assert network.pod("10.244.2.2", code).said() == "300\n"


def test_datagrams_reach_an_endpoint_and_answers_come_from_the_service(network: Network) -> None:
    echoing(network, A, B, code=UDP_ECHO)
    network.services(service("log", "10.96.7.3", ports=[("", "UDP", 514, [(A, 5000), (B, 5000)])]))
    code = textwrap.dedent("""
        import socket
        for word in ("one", "two"):
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.settimeout(20)
            for _ in range(2):
                sock.sendto(word.encode(), ("log", 514))
                data, peer = sock.recvfrom(1000)
                print(data.decode(), *peer)
    """)
    said = network.pod("10.244.2.2", code).said().splitlines()
    assert said == [f"{A} heard one 10.96.7.3 514"] * 2 + [f"{B} heard two 10.96.7.3 514"] * 2


def test_a_killed_holder_is_not_noticed_by_pods_that_talk_and_its_successor_serves_them_all(network: Network) -> None:
    echoing(network, A)
    row = service("web", "10.96.7.1", ports=[("", "TCP", 80, [(A, 23456)])])
    network.services(row)
    talking = network.pod("10.244.2.2", HOLDING_ON)
    talking.tell("before?")
    assert talking.line() == "10.244.1.2 heard before?"

    network.kill_holder()
    talking.tell("between?")
    assert talking.line() == "10.244.1.2 heard between?"

    network.start_holder()
    talking.tell("after?")
    assert talking.line() == "10.244.1.2 heard after?"
    # From the file of the last table, by name, from a pod that is new on the old network.
    assert network.pod("10.244.2.3", asking("web", 80)).said() == "10.244.1.2 heard hello?\n"


@pytest.mark.parametrize("seed", range(3))
def test_a_holder_killed_again_and_again_at_any_moment_of_its_start_leaves_the_network_whole(
    network: Network, seed: int
) -> None:
    chance = random.Random(seed)
    echoing(network, A)
    network.services(service("web", "10.96.7.1", ports=[("", "TCP", 80, [(A, 23456)])]))
    talking = network.pod("10.244.2.2", HOLDING_ON)
    for number in range(8):
        network.kill_holder()
        network.spawn_holder()
        time.sleep(chance.random() * 0.1)
        talking.tell(f"round {number}?")
        assert talking.line() == f"10.244.1.2 heard round {number}?"
    network.kill_holder()
    network.start_holder()
    assert network.pod("10.244.2.3", asking("web", 80)).said() == "10.244.1.2 heard hello?\n"


def test_an_address_that_comes_back_is_reached_at_its_new_pod(network: Network) -> None:
    for _ in range(3):
        pod = network.pod(A, ECHO)
        assert pod.line() == "listening"
        assert network.pod("10.244.2.2", asking(A, 23456)).said() == "10.244.1.2 heard hello?\n"
        pod.process.kill()
        pod.process.wait()


def test_only_one_holder_serves_a_data_directory(network: Network) -> None:
    first = network.holder
    network.start_holder()
    assert network.holder is not None
    assert network.holder.wait(30) == 0
    assert first is not None
    assert network.info()["pid"] == first.pid


def test_a_holder_whose_directory_is_removed_ends(network: Network) -> None:
    network.socket.unlink()
    eventually(lambda: network.holder is not None and network.holder.poll() is not None)
