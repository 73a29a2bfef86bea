# SPDX-License-Identifier: Apache-2.0
"""Volumes of every kind, at their paths, with their modes."""

from __future__ import annotations

import base64
from typing import Any

from tests.pods.manifests import WAIT, annotated, config_map, mount, pod, py, secret, sh
from tests.pods.spaces import Space, state

from springtide.kube.resources import Obj

READ_ONLY = "Read-only file system"
EMPTY = {"name": "v", "emptyDir": {}}


def at(path: str, volume: Obj, script: str, **fields: Any) -> Obj:
    """A pod with one volume at one path."""
    return pod(sh(script, volumeMounts=[mount(volume["name"], path, **fields)]), volumes=[volume])


# emptyDir


async def test_an_empty_dir_is_empty_and_open_to_all(space: Space) -> None:
    assert await space.run(at("/data/deep/er", EMPTY, "ls -A /data/deep/er; stat -c %a /data/deep/er")) == "777\n"


async def test_an_empty_dir_is_shared_by_the_pod_s_containers(space: Space) -> None:
    writer = sh("echo shared > /out/file", "writer", volumeMounts=[mount("v", "/out")])
    script = "while [ ! -s /in/file ]; do sleep 0.05; done; cat /in/file; echo x 2>/dev/null > /in/file || echo refused"
    reader = sh(script, "reader", volumeMounts=[mount("v", "/in", readOnly=True)])
    await space.create(pod(writer, reader, volumes=[EMPTY]))
    await space.ended()
    assert await space.log(container="reader") == "shared\nrefused\n"


async def test_an_empty_dir_can_be_in_memory(space: Space) -> None:
    volume = {"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "8Mi"}}
    assert await space.run(at("/v", volume, "stat -f -c %T /v; stat -c %a /v")) == "tmpfs\n777\n"


async def test_one_in_memory_holds_what_it_may_hold(space: Space) -> None:
    volume = {"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "4Mi"}}
    script = "head -c 5000000 /dev/zero > /v/file 2>/dev/null || stat -c %s /v/file"
    assert await space.run(at("/v", volume, script)) == "4194304\n"


async def test_one_in_memory_is_no_larger_than_the_memory_of_its_pod(space: Space) -> None:
    volume = {"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}
    main = sh("df -k /v | tail -1 | awk '{print $2}'", volumeMounts=[mount("v", "/v")])
    main["resources"] = {"limits": {"memory": "32Mi"}}
    assert await space.run(pod(main, volumes=[volume])) == "32768\n"


async def test_one_in_memory_has_parts(space: Space) -> None:
    volume = {"name": "v", "emptyDir": {"medium": "Memory"}}
    init = sh("echo here > /part/file", "init", volumeMounts=[mount("v", "/part", subPath="a/b")])
    main = sh("cat /v/a/b/file; stat -c %a /v/a/b", volumeMounts=[mount("v", "/v")])
    assert await space.run(pod(main, initContainers=[init], volumes=[volume])) == "here\n777\n"


async def test_one_in_memory_is_shared_too(space: Space) -> None:
    volume = {"name": "v", "emptyDir": {"medium": "Memory"}}
    init = sh("echo here > /v/file", "init", volumeMounts=[mount("v", "/v")])
    main = sh("cat /v/file", volumeMounts=[mount("v", "/v")])
    assert await space.run(pod(main, initContainers=[init], volumes=[volume])) == "here\n"


async def test_a_volume_may_lie_in_another(space: Space) -> None:
    mounts = [mount("inner", "/outer/in/side"), mount("v", "/outer")]
    script = "echo 1 > /outer/a; echo 2 > /outer/in/side/b; cat /outer/a /outer/in/side/b; find /outer -type f | sort"
    volumes = [EMPTY, {"name": "inner", "emptyDir": {}}]
    log = await space.run(pod(sh(script, volumeMounts=mounts), volumes=volumes))
    assert log == "1\n2\n/outer/a\n/outer/in/side/b\n"


async def test_volumes_lie_where_the_image_has_directories_and_where_not(space: Space) -> None:
    paths = ["/etc/own/conf", "/usr/share/own", "/opt/own", "/var/lib/own", "/root/.ssh", "/new/at/root", "/tmp/own"]
    mounts = [mount("v", path) for path in paths]
    script = f"echo seen > /new/at/root/file; cat {' '.join(f'{path}/file' for path in paths)}"
    log = await space.run(pod(sh(script, volumeMounts=mounts), volumes=[EMPTY]))
    assert log == "seen\n" * len(paths)


# subPath and readOnly


async def test_parts_of_a_volume(space: Space) -> None:
    env = [{"name": "WHO", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    mounts = [mount("v", "/whole"), mount("v", "/part", subPath="a/b"), mount("v", "/mine", subPathExpr="of-$(WHO)")]
    script = "echo 1 > /part/x; echo 2 > /mine/y; cat /whole/a/b/x /whole/of-p/y"
    assert await space.run(pod(sh(script, env=env, volumeMounts=mounts), volumes=[EMPTY])) == "1\n2\n"


async def test_a_single_file_of_a_volume(space: Space) -> None:
    await space.create(config_map("c", one="first", two="second"))
    volume = {"name": "v", "configMap": {"name": "c"}}
    script = "cat /etc/app.conf; test -d /etc/init.d -o -e /etc/passwd && echo rest"
    assert await space.run(at("/etc/app.conf", volume, script, subPath="two")) == "secondrest\n"


async def test_a_part_that_leads_out_of_the_volume_is_refused(space: Space) -> None:
    init = sh("ln -s /etc /v/out", "init", volumeMounts=[mount("v", "/v")])
    main = sh("ls /part", volumeMounts=[mount("v", "/part", subPath="out")])
    await space.create(pod(main, initContainers=[init], volumes=[EMPTY]))
    seen = await space.until("p", lambda seen: "message" in (state(seen).get("waiting") or {}))
    assert state(seen)["waiting"]["reason"] == "CreateContainerConfigError"
    assert "subPath" in state(seen)["waiting"]["message"]


async def test_read_only_means_read_only(space: Space) -> None:
    log = await space.run(at("/v", EMPTY, "touch /v/x 2>&1 || true", readOnly=True))
    assert READ_ONLY in log


async def test_a_read_only_root_keeps_its_volumes_writable(space: Space) -> None:
    script = "touch /new 2>&1; touch /etc/new 2>&1; touch /v/new && echo volume"
    main = sh(script, volumeMounts=[mount("v", "/v")], securityContext={"readOnlyRootFilesystem": True})
    log = await space.run(pod(main, volumes=[EMPTY]))
    assert log.count(READ_ONLY) == 2
    assert log.endswith("volume\n")


# hostPath


async def test_a_path_of_the_node(space: Space) -> None:
    name = f"springtide-{space.name}"
    volume = {"name": "v", "hostPath": {"path": f"/tmp/{name}", "type": "DirectoryOrCreate"}}
    assert await space.run(at("/there", volume, "echo kept > /there/file")) == ""
    volume = {"name": "v", "hostPath": {"path": "/tmp"}}
    again = at("/again", volume, f"cat /again/{name}/file; rm -r /again/{name}")
    again["metadata"]["name"] = "again"
    again["spec"]["nodeName"] = (await space.ended())["spec"]["nodeName"]
    assert await space.run(again) == "kept\n"


async def test_a_path_that_is_not_what_it_should_be_is_waited_for(space: Space) -> None:
    volume = {"name": "v", "hostPath": {"path": "/no/such/springtide", "type": "Directory"}}
    await space.create(at("/there", volume, "true"))
    said = await space.event("p", "FailedMount")
    assert 'MountVolume.SetUp failed for volume "v"' in said
    assert "hostPath type check failed: /no/such/springtide is not a directory" in said
    assert state(await space.phase("p", "Pending"))["waiting"]["reason"] == "ContainerCreating"


# configMap and secret


async def test_a_config_map_s_keys_are_files(space: Space) -> None:
    obj = config_map("c", **{"a.txt": "text", "b": "two\nlines\n"})
    await space.create(obj | {"binaryData": {"c": base64.b64encode(b"\x00\xff").decode()}})
    volume = {"name": "v", "configMap": {"name": "c"}}
    script = "ls /v; cat /v/a.txt; echo; cat /v/b; od -An -tx1 /v/c; stat -L -c %a /v/b; test -L /v/b && readlink /v/b"
    log = await space.run(at("/v", volume, script))
    assert log == "a.txt\nb\nc\ntext\ntwo\nlines\n 00 ff\n644\n..data/b\n"


async def test_config_maps_cannot_be_written_to(space: Space) -> None:
    await space.create(config_map("c", k="v"))
    log = await space.run(
        at("/v", {"name": "v", "configMap": {"name": "c"}}, "echo x 2>&1 > /v/k || touch /v/new 2>&1")
    )
    assert READ_ONLY in log


async def test_keys_can_be_chosen_with_paths_and_modes(space: Space) -> None:
    await space.create(config_map("c", a="1", b="2", c="3"))
    items = [{"key": "a", "path": "deep/er/file"}, {"key": "b", "path": "script", "mode": 0o755}]
    volume = {"name": "v", "configMap": {"name": "c", "items": items, "defaultMode": 0o640}}
    script = "cd /v; cat deep/er/file script; ls; stat -L -c %a deep/er/file script"
    assert await space.run(at("/v", volume, script)) == "12deep\nscript\n640\n755\n"


async def test_secrets_are_files_in_memory(space: Space) -> None:
    await space.create(secret("s", password="geheim"))
    volume = {"name": "v", "secret": {"secretName": "s", "defaultMode": 0o400}}
    script = "cat /v/password; echo; stat -L -c %a /v/password; stat -f -c %T /v"
    found = (await space.run(at("/v", volume, script))).splitlines()
    assert found[:2] == ["geheim", "400"]


async def test_what_is_optional_may_be_missing(space: Space) -> None:
    volumes = [
        {"name": "c", "configMap": {"name": "missing", "optional": True}},
        {"name": "s", "secret": {"secretName": "missing", "optional": True}},
    ]
    main = sh("ls /c /s", volumeMounts=[mount("c", "/c"), mount("s", "/s")])
    assert await space.run(pod(main, volumes=volumes)) == "/c:\n\n/s:\n"


async def test_a_missing_config_map_is_waited_for(space: Space) -> None:
    await space.create(at("/v", {"name": "v", "configMap": {"name": "c"}}, "cat /v/k"))
    assert await space.event("p", "FailedMount") == 'MountVolume.SetUp failed for volume "v" : configmap "c" not found'
    assert state(await space.phase("p", "Pending"))["waiting"]["reason"] == "ContainerCreating"
    await space.create(config_map("c", k="here"))
    await space.ended()
    assert await space.log() == "here"


async def test_a_missing_key_is_an_error(space: Space) -> None:
    await space.create(secret("s", k="v"))
    volume = {"name": "v", "secret": {"secretName": "s", "items": [{"key": "other", "path": "x"}]}}
    await space.create(at("/v", volume, "true"))
    said = await space.event("p", "FailedMount")
    assert said == 'MountVolume.SetUp failed for volume "v" : references non-existent secret key: other'


# downwardAPI and projected


async def test_a_pod_s_description_as_files(space: Space) -> None:
    items = [
        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
        {"path": "notes", "fieldRef": {"fieldPath": "metadata.annotations"}},
        {"path": "me/name", "fieldRef": {"fieldPath": "metadata.name"}, "mode": 0o600},
        {"path": "cpu", "resourceFieldRef": {"containerName": "main", "resource": "requests.cpu", "divisor": "1m"}},
    ]
    volume = {"name": "v", "downwardAPI": {"items": items}}
    script = "cd /v; cat labels; echo; cat notes; echo; cat me/name; echo; cat cpu; echo; stat -L -c %a me/name"
    manifest = at("/v", volume, script)
    manifest["metadata"]["labels"] = {"b": "2", "a": "1"}
    manifest["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "20m"}}
    log = await space.run(annotated(manifest, **{"note": 'with "quotes"\nand lines'}))
    assert log.splitlines()[:2] == ['a="1"', 'b="2"']
    assert 'note="with \\"quotes\\"\\nand lines"' in log
    assert log.splitlines()[-3:] == ["p", "20", "600"]


async def test_several_sources_in_one_volume(space: Space) -> None:
    await space.create(config_map("c", k="config"), secret("s", k="secret"))
    sources = [
        {"configMap": {"name": "c", "items": [{"key": "k", "path": "from/config"}]}},
        {"secret": {"name": "s", "items": [{"key": "k", "path": "from/secret", "mode": 0o400}]}},
        {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {"serviceAccountToken": {"path": "token", "audience": "somebody", "expirationSeconds": 600}},
    ]
    volume = {"name": "v", "projected": {"sources": sources, "defaultMode": 0o440}}
    script = "cd /v/from; cat config secret ../name; echo; stat -L -c %a config secret; tr . '\n' < ../token | wc -l"
    assert await space.run(at("/v", volume, script)) == "configsecretp\n440\n400\n2\n"


# Changes


ATOMIC = """
    import os, signal, sys, time
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    last = ""
    while True:
        now = os.open("/v/..data", os.O_PATH)
        texts = {open(name, opener=lambda name, flags: os.open(name, flags, dir_fd=now)).read() for name in ("a", "b")}
        os.close(now)
        if len(texts) != 1:
            print("torn", texts)
        (text,) = texts
        if text != last:
            print("read", text)
        last = text
        time.sleep(0.001)
"""


async def test_changed_config_maps_and_secrets_are_seen_all_at_once(space: Space) -> None:
    for kind, make in (("configMap", config_map), ("secret", secret)):
        await space.create(make("o", a="0", b="0"))
        source = {"name": "o"} if kind == "configMap" else {"secretName": "o"}
        main = py(ATOMIC, volumeMounts=[mount("v", "/v")])
        await space.start(pod(main, name=kind.lower(), volumes=[{"name": "v", kind: source}]))
        for number in "123":
            await space.apply(make("o", a=number, b=number))
            log = await space.says(kind.lower(), f"read {number}\n")
            assert "torn" not in log


async def test_keys_come_and_go(space: Space) -> None:
    await space.create(config_map("c", old="1"))
    script = f"until [ -e /v/new ] && [ ! -e /v/old ]; do sleep 0.05; done; echo changed; {WAIT}"
    await space.start(at("/v", {"name": "v", "configMap": {"name": "c"}}, script))
    await space.change(config_map("c") | {"data": {"new": "2", "old": None}})
    await space.says("p", "changed")


async def test_single_files_do_not_follow_changes(space: Space) -> None:
    await space.create(config_map("c", k="old"))
    mounts = [mount("v", "/whole"), mount("v", "/single", subPath="k")]
    script = f"until grep -q new /whole/k; do sleep 0.05; done; cat /single; echo; {WAIT}"
    volume = {"name": "v", "configMap": {"name": "c"}}
    await space.start(pod(sh(script, volumeMounts=mounts), volumes=[volume]))
    await space.apply(config_map("c", k="new"))
    assert await space.says("p", "\n") == "old\n"


async def test_labels_in_files_follow_changes(space: Space) -> None:
    volume = {"name": "v", "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}}
    script = f"until grep -q fresh /v/l; do sleep 0.05; done; echo changed; {WAIT}"
    await space.start(at("/v", volume, script))
    space.kubectl("label", "pod", "p", "state=fresh")
    await space.says("p", "changed")
