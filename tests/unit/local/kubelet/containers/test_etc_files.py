# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from springtide.local.kubelet.containers import etc_files
from springtide.local.kubelet.containers.etc_files import Account, Hostname, HostnameError, Resolver


def a_pod(name: str = "w-0", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": "team", "name": name, "uid": "u"}, "spec": spec}


def hostname(pod: dict[str, Any]) -> Hostname:
    return etc_files.hostname_of(pod, "cluster.local")


def test_a_pod_is_called_by_its_name() -> None:
    assert hostname(a_pod()) == ("w-0", "")


def test_hostname_and_subdomain_make_a_full_name() -> None:
    found = hostname(a_pod(hostname="master", subdomain="job"))
    assert found == ("master", "job.team.svc.cluster.local")
    assert found.full == "master.job.team.svc.cluster.local"


def test_a_long_name_is_cut_to_what_the_kernel_takes() -> None:
    assert hostname(a_pod("a" * 62 + "-b")).name == "a" * 62


def test_an_override_has_no_domain() -> None:
    assert hostname(a_pod(hostnameOverride="any.name.example", subdomain="job")) == ("any.name.example", "")


def test_the_kernels_name_is_the_full_one_only_on_request() -> None:
    pod = a_pod(subdomain="job")
    assert etc_files.nodename(pod, hostname(pod)) == "w-0"
    pod = a_pod(subdomain="job", setHostnameAsFQDN=True)
    assert etc_files.nodename(pod, hostname(pod)) == "w-0.job.team.svc.cluster.local"


def test_a_full_name_that_is_too_long_is_refused() -> None:
    pod = a_pod("n" * 60, subdomain="job", setHostnameAsFQDN=True)
    with pytest.raises(HostnameError, match=r"is too long \(64 characters is the max, 87 characters requested\)"):
        etc_files.nodename(pod, hostname(pod))


def test_hosts_is_what_kubelet_writes() -> None:
    pod = a_pod(subdomain="job", hostAliases=[{"ip": "1.2.3.4", "hostnames": ["db", "db.local"]}])
    assert etc_files.hosts(pod, "10.244.1.5", hostname(pod), "ignored") == (
        "# Kubernetes-managed hosts file.\n"
        "127.0.0.1\tlocalhost\n"
        "::1\tlocalhost ip6-localhost ip6-loopback\n"
        "fe00::0\tip6-localnet\n"
        "fe00::0\tip6-mcastprefix\n"
        "fe00::1\tip6-allnodes\n"
        "fe00::2\tip6-allrouters\n"
        "10.244.1.5\tw-0.job.team.svc.cluster.local\tw-0\n"
        "\n# Entries added by HostAliases.\n"
        "1.2.3.4\tdb\tdb.local\n"
    )


def test_a_pod_on_the_hosts_network_sees_the_hosts_names() -> None:
    pod = a_pod(hostNetwork=True)
    found = etc_files.hosts(pod, "127.0.0.1", hostname(pod), "127.0.0.1 box\n")
    assert found == "# Kubernetes-managed hosts file (host network).\n127.0.0.1 box\n"


HOST = Resolver(("9.9.9.9",), ("corp.example",), ("edns0",))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {},
            "search team.svc.cluster.local svc.cluster.local cluster.local corp.example\n"
            "nameserver 10.96.0.10\noptions ndots:5\n",
        ),
        ({"dnsPolicy": "Default"}, "search corp.example\nnameserver 9.9.9.9\noptions edns0\n"),
        (
            {"dnsPolicy": "ClusterFirst", "hostNetwork": True},
            "search corp.example\nnameserver 9.9.9.9\noptions edns0\n",
        ),
        (
            {"dnsPolicy": "ClusterFirstWithHostNet", "hostNetwork": True},
            "search team.svc.cluster.local svc.cluster.local cluster.local corp.example\n"
            "nameserver 10.96.0.10\noptions ndots:5\n",
        ),
        (
            {
                "dnsPolicy": "None",
                "dnsConfig": {
                    "nameservers": ["1.1.1.1"],
                    "searches": ["a"],
                    "options": [{"name": "ndots", "value": "2"}, {"name": "rotate"}],
                },
            },
            "search a\nnameserver 1.1.1.1\noptions ndots:2 rotate\n",
        ),
        (
            {"dnsConfig": {"options": [{"name": "ndots", "value": "1"}], "searches": ["svc.cluster.local", "x"]}},
            "search team.svc.cluster.local svc.cluster.local cluster.local corp.example x\n"
            "nameserver 10.96.0.10\noptions ndots:1\n",
        ),
    ],
)
def test_names_are_asked_as_the_policy_says(spec: dict[str, Any], expected: str) -> None:
    assert str(etc_files.resolver(a_pod(**spec), HOST, "10.96.0.10", "cluster.local")) == expected


def test_a_resolver_keeps_to_what_libraries_can_read() -> None:
    config = {"nameservers": ["1", "2", "3", "4"], "searches": [f"d{n}.example" for n in range(40)] + ["x" * 254]}
    found = etc_files.resolver(a_pod(dnsPolicy="None", dnsConfig=config), HOST, "", "")
    assert found.servers == ("1", "2", "3")
    assert len(found.searches) == 32


def test_a_hosts_resolv_conf_is_read_as_kubelet_reads_it() -> None:
    text = "# c\nnameserver 1.1.1.1\nsearch a.\nsearch b. . c\noptions ndots:1 edns0\noptions ndots:3\nnameserver\n"
    assert etc_files.parse_resolver(text) == Resolver(("1.1.1.1",), ("b", "c"), ("ndots:3", "edns0"))


PASSWD = (
    "root:x:0:0:root:/var/root:/bin/zsh\n"
    "sshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n"
    "ann:x:7:7::/home/ann:\n"
    "+::::::\n"
)


def test_root_is_at_home_in_its_private_root() -> None:
    text = etc_files.passwd(PASSWD, Account("root", 0, 0, "/bin/sh"))
    assert text.splitlines()[0] == "root:x:0:0:root:/root:/bin/sh"
    assert "sshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n" in text
    assert etc_files.home_of(text, 7) == "/home/ann"
    assert etc_files.home_of(text, 4711) == "/"


def test_an_ordinary_user_is_at_home_there_too() -> None:
    text = etc_files.passwd(PASSWD, Account("ann", 7, 8, "/bin/bash"))
    assert "ann:*:7:8:ann:/root:/bin/bash\n" in text
    assert text.count("ann:") == 2  # his name and what he is called
    assert etc_files.home_of(text, 7) == etc_files.home_of(text, 0) == "/root"


def test_the_own_group_has_a_name() -> None:
    account = Account("ann", 7, 8, "/bin/bash")
    assert etc_files.group("root:x:0:\n", account) == "root:x:0:\nann:x:8:\n"
    assert etc_files.group("staff:x:8:\n", account) == "staff:x:8:\n"


def test_a_changed_file_stays_the_same_file(tmp_path: Path) -> None:
    etc_files.write(tmp_path / "etc", {"hosts": "a"})
    before = (tmp_path / "etc/hosts").stat()
    etc_files.write(tmp_path / "etc", {"hosts": "b"})
    after = (tmp_path / "etc/hosts").stat()
    assert (tmp_path / "etc/hosts").read_text() == "b"
    assert (after.st_ino, after.st_mode & 0o777) == (before.st_ino, 0o644)


def test_an_equal_file_is_left_alone(tmp_path: Path) -> None:
    etc_files.write(tmp_path, {"hosts": "a"})
    os.utime(tmp_path / "hosts", (1, 1))
    etc_files.write(tmp_path, {"hosts": "a"})
    assert (tmp_path / "hosts").stat().st_mtime == 1


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    etc_files.write(tmp_path, {"hosts": "127.0.0.1 localhost"})
    real = os.pwrite

    def full(descriptor: int, text: bytes, offset: int) -> int:
        room = 30 - offset
        if room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, text[:room], offset)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space left"):
        etc_files.write(tmp_path, {"hosts": "10.244.1.2 me\n" * 10})
    assert (tmp_path / "hosts").read_text() == "127.0.0.1 localhost"
