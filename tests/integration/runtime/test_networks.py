# SPDX-License-Identifier: Apache-2.0
"""Every pod has its own address and its own ports."""

from __future__ import annotations

import asyncio

import pytest
from tests.integration.runtime.pods import Pods

from springtide.local.runtime import shim_client

PORT = 23456


async def test_two_pods_bind_the_same_port_and_talk_to_each_other(networked: Pods) -> None:
    loop = asyncio.get_running_loop()
    pods = [await networked.make(), await networked.make()]
    listeners = []
    for pod in pods:
        listener = await pod.shim.socket()
        listener.bind(("0.0.0.0", PORT))
        listener.listen()
        listeners.append(listener)
    for pod, other, listener in ((pods[0], pods[1], listeners[1]), (pods[1], pods[0], listeners[0])):
        caller = await pod.shim.socket("tcp")
        await loop.sock_connect(caller, (other.body.address, PORT))
        answering, (address, _) = await loop.sock_accept(listener)
        assert address == pod.body.address
        answering.close()
        caller.close()
    for listener in listeners:
        listener.close()


async def test_containers_of_a_pod_share_its_address(networked: Pods) -> None:
    pod = await networked.make()
    text = "cat /proc/net/fib_trie"
    assert pod.body.address in await pod.output(text)
    assert pod.body.address in await pod.output(text, name="other")


async def test_any_user_may_listen_on_a_low_port(networked: Pods) -> None:
    pod = await networked.make()
    text = "import socket; socket.create_server(('', 80)); print('bound')"
    await pod.start("python3", "-S", "-c", text)
    assert (await pod.ended()).exit_code == 0


async def test_a_holder_that_is_not_there_is_a_clear_refusal(networked: Pods) -> None:
    nowhere = str(networked.data / "nowhere.sock")
    with pytest.raises(shim_client.ShimError, match=f"netd does not answer at {nowhere}") as refusal:
        await networked.make(holder=nowhere)
    assert refusal.value.reason == "NetworkNotReady"
