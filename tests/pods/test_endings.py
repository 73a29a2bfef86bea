# SPDX-License-Identifier: Apache-2.0
"""How pods end: signals, grace, deadlines, and hooks around a container's life."""

from __future__ import annotations

from typing import Any

from tests.pods.manifests import WAIT, mount, pod, py, sh
from tests.pods.spaces import Space, condition, kept, last_state, restarts, state, waiting

SHARED: dict[str, Any] = {"volumeMounts": [mount("v", "/v")]}
VOLUME = [{"name": "v", "emptyDir": {}}]
DEAF = "trap '' TERM; while :; do sleep 0.1; done"


async def test_a_deleted_pod_s_program_gets_term_and_may_end_as_it_likes(space: Space) -> None:
    script = "trap 'echo bye; exit 5' TERM; while :; do sleep 0.1; done"
    await space.start(kept(pod(sh(script), terminationGracePeriodSeconds=20)))
    end = state(await space.delete_and_see())["terminated"]
    assert (end["exitCode"], end["reason"]) == (5, "Error")
    assert await space.log() == "bye\n"


async def test_a_pod_that_is_ending_is_not_ready(space: Space) -> None:
    script = "trap 'sleep 1; exit 0' TERM; while :; do sleep 0.1; done"
    await space.start(kept(pod(sh(script), terminationGracePeriodSeconds=20)))
    await space.delete_and_see()
    seen = await space.phase("p", "Succeeded", "Failed")
    assert condition(seen, "Ready")["status"] == "False"


async def test_a_program_that_does_not_listen_is_killed_after_the_grace(space: Space) -> None:
    await space.start(kept(pod(sh(DEAF), terminationGracePeriodSeconds=1)))
    end = state(await space.delete_and_see())["terminated"]
    assert (end["exitCode"], end["reason"]) == (137, "Error")


async def test_whoever_deletes_may_shorten_the_grace(space: Space) -> None:
    await space.start(kept(pod(sh(DEAF), terminationGracePeriodSeconds=3600)))
    end = state(await space.delete_and_see(grace=1))["terminated"]
    assert end["exitCode"] == 137


async def test_the_grace_can_be_shortened_while_it_runs(space: Space) -> None:
    await space.start(kept(pod(sh(DEAF), terminationGracePeriodSeconds=3600)))
    await space.delete()
    await space.event("p", "Killing")
    end = state(await space.delete_and_see(grace=1))["terminated"]
    assert end["exitCode"] == 137


async def test_a_pod_that_is_deleted_by_force_is_gone_at_once(space: Space) -> None:
    await space.start(pod(sh(DEAF), terminationGracePeriodSeconds=3600))
    space.kubectl("delete", "pod", "p", "--force", "--grace-period=0")
    await space.gone()


async def test_a_deleted_pod_is_gone_when_its_programs_are(space: Space) -> None:
    await space.start(pod(sh(WAIT)))
    assert "deleted" in space.kubectl("delete", "pod", "p")
    await space.gone()


async def test_a_deleted_pod_is_not_restarted(space: Space) -> None:
    await space.start(kept(pod(sh(WAIT), restartPolicy="Always")))
    seen = await space.delete_and_see()
    assert restarts(seen) == 0


async def test_signals_reach_the_program_and_children_end_with_it(space: Space) -> None:
    """Here the child of a child ignores TERM in a session of its own, as daemons do."""
    script = """
        import os, signal, sys, time
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
        if os.fork() == 0:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            print("daemon", flush=True)
            while True:
                time.sleep(1)
        while True:
            time.sleep(0.1)
    """
    await space.start(kept(pod(py(script), terminationGracePeriodSeconds=20)))
    await space.says("p", "daemon")
    assert state(await space.delete_and_see())["terminated"]["exitCode"] == 3


async def test_a_pod_may_be_active_for_so_long_only(space: Space) -> None:
    await space.create(pod(sh(WAIT), activeDeadlineSeconds=1, restartPolicy="Always"))
    seen = await space.ended()
    assert seen["status"]["phase"] == "Failed"
    assert seen["status"]["reason"] == "DeadlineExceeded"
    assert seen["status"]["message"] == "Pod was active on the node longer than the specified deadline"


async def test_a_deadline_also_ends_init_containers(space: Space) -> None:
    await space.create(pod(sh(WAIT), initContainers=[sh(WAIT, "a")], activeDeadlineSeconds=1))
    assert (await space.ended())["status"]["reason"] == "DeadlineExceeded"


async def test_a_hook_after_the_start_runs_in_the_container(space: Space) -> None:
    hook = {"postStart": {"exec": {"command": ["sh", "-c", "echo hooked > /v/hook"]}}}
    script = "while [ ! -e /v/hook ]; do sleep 0.05; done; cat /v/hook"
    assert await space.run(pod(sh(script, lifecycle=hook, **SHARED), volumes=VOLUME)) == "hooked\n"


async def test_a_container_counts_as_running_when_its_hook_is_through(space: Space) -> None:
    hook = {"postStart": {"exec": {"command": ["sh", "-c", "while [ ! -e /v/go ]; do sleep 0.05; done"]}}}
    containers = (sh(WAIT, lifecycle=hook, **SHARED), sh(WAIT, "second"))
    await space.create(pod(*containers, volumes=VOLUME))
    await space.event("p", "Started")
    seen = await space.until("p", lambda seen: waiting(seen) == "ContainerCreating")
    assert seen["status"]["phase"] == "Pending"
    assert waiting(seen, "second") == "ContainerCreating"
    await space.eventually(lambda: _touch(space), bool)
    await space.ready()


async def _touch(space: Space) -> bool:
    return space.kubectl.run("exec", "p", "-c", "main", "--", "touch", "/v/go").returncode == 0


async def test_a_failing_hook_after_the_start_kills_the_container(space: Space) -> None:
    hook = {"postStart": {"exec": {"command": ["sh", "-c", "echo broken; exit 4"]}}}
    await space.create(pod(sh(DEAF, lifecycle=hook), terminationGracePeriodSeconds=1, restartPolicy="Always"))
    await space.event("p", "FailedPostStartHook")
    seen = await space.until("p", lambda seen: restarts(seen) >= 1)
    assert last_state(seen)["terminated"]["exitCode"] == 137


async def test_a_hook_before_the_end_runs_before_term(space: Space) -> None:
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "echo hook >> /v/order; sleep 0.3"]}}}
    script = "trap 'echo term >> /v/order; cat /v/order; exit 0' TERM; while :; do sleep 0.05; done"
    manifest = pod(sh(script, lifecycle=hook, **SHARED), volumes=VOLUME, terminationGracePeriodSeconds=20)
    await space.start(kept(manifest))
    await space.delete_and_see()
    assert await space.log() == "hook\nterm\n"


async def test_a_hook_may_sleep(space: Space) -> None:
    hook = {"preStop": {"sleep": {"seconds": 1}}}
    script = "trap 'echo term; exit 0' TERM; while :; do sleep 0.05; done"
    await space.start(kept(pod(sh(script, lifecycle=hook), terminationGracePeriodSeconds=20)))
    await space.delete_and_see()
    assert await space.log() == "term\n"


async def test_a_hook_before_the_end_has_the_grace_and_no_more(space: Space) -> None:
    hook = {"preStop": {"exec": {"command": ["sleep", "1000"]}}}
    await space.start(kept(pod(sh(WAIT, lifecycle=hook), terminationGracePeriodSeconds=1)))
    assert state(await space.delete_and_see())["terminated"]["exitCode"] == 0
    assert await space.event("p", "FailedPreStopHook") == "PreStopHook failed"


async def test_a_failing_hook_before_the_end_changes_nothing(space: Space) -> None:
    hook = {"preStop": {"exec": {"command": ["false"]}}}
    await space.start(kept(pod(sh(WAIT, lifecycle=hook), terminationGracePeriodSeconds=20)))
    assert state(await space.delete_and_see())["terminated"]["exitCode"] == 0
    assert await space.event("p", "FailedPreStopHook") == "PreStopHook failed"


async def test_hooks_can_be_http_requests(space: Space) -> None:
    script = """
        import http.server, signal, sys
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                print("asked", self.path, self.headers["X-Who"], flush=True)
                self.send_response(200)
                self.end_headers()
            def log_message(self, *_):
                pass
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        http.server.HTTPServer(("", 8080), Handler).serve_forever()
    """
    request = {"port": "web", "path": "/end", "httpHeaders": [{"name": "X-Who", "value": "me"}]}
    main = py(script, lifecycle={"preStop": {"httpGet": request}}, ports=[{"name": "web", "containerPort": 8080}])
    probe = {"tcpSocket": {"port": 8080}, "periodSeconds": 1}
    await space.start(kept(pod(main | {"readinessProbe": probe}, terminationGracePeriodSeconds=20)))
    await space.delete_and_see()
    assert await space.log() == "asked /end me\n"


async def test_a_program_that_ends_by_itself_gets_no_hook(space: Space) -> None:
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "touch /v/hook"]}}}
    other = sh("sleep 1; ls /v", "other", **SHARED)
    await space.create(pod(sh("exit 0", lifecycle=hook, **SHARED), other, volumes=VOLUME))
    await space.ended()
    assert await space.log(container="other") == ""
