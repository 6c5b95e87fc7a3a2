"""Quotas of processor time, in file systems as the kernel and container runtimes show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from scorer.system import processors
from scorer.system.processors import processor_quota, thread_count

V2 = "29 23 0:26 {top} /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = (
    "30 24 0:25 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "31 24 0:26 {top} /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
)
DISK = "22 1 8:1 / / rw,relatime - ext4 /dev/root rw\n"
MAX, CFS = "sys/fs/cgroup{}/cpu.max", "sys/fs/cgroup/cpu,cpuacct{}/cpu.cfs_{}_us"


def v1(group: str, quota: int) -> dict[str, str]:
    return {CFS.format(group, "quota"): f"{quota}\n", CFS.format(group, "period"): "100000\n"}


@pytest.mark.parametrize(
    ("membership", "mounts", "files", "expected"),
    [
        # A container of version 2: its group is the top of what it sees.
        ("0::/\n", V2.format(top="/"), {MAX.format(""): "200000 100000\n"}, 2),
        ("0::/\n", V2.format(top="/"), {MAX.format(""): "max 100000\n"}, None),
        ("0::/\n", V2.format(top="/"), {}, None),
        # A service of systemd: the quota of a group above holds for all groups below.
        (
            "0::/user.slice/job.service\n",
            V2.format(top="/"),
            {MAX.format("/user.slice"): "150000 100000\n", MAX.format("/user.slice/job.service"): "max 100000\n"},
            1.5,
        ),
        (
            "0::/a/b\n",
            V2.format(top="/"),
            {MAX.format("/a"): "300000 100000\n", MAX.format("/a/b"): "50000 100000\n", MAX.format("/b"): "1 100000\n"},
            0.5,
        ),
        # Docker with version 1: the path is that of the host, of which the mount shows the container's own part.
        ("7:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n", V1.format(top="/docker/x"), v1("", 400000), 4),
        ("4:cpu,cpuacct:/docker/x\n", V1.format(top="/docker/x"), v1("", -1), None),
        ("4:cpu,cpuacct:/kubepods/pod/x\n", V1.format(top="/"), v1("/kubepods/pod", 250000), 2.5),
        ("4:cpu,cpuacct:/docker/x/inner\n", V1.format(top="/docker/x"), v1("/inner", 100000), 1),
        # A path that the mount does not show is that of its top.
        ("0::/../../other\n", V2.format(top="/"), {MAX.format(""): "200000 100000\n"}, 2),
        # Both versions: the memory by one, the processors by the other.
        (
            "4:cpu,cpuacct:/x\n0::/\n",
            V1.format(top="/") + "32 24 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
            v1("/x", 300000),
            3,
        ),
        # Not to be read, or damaged: there is no limit that is known.
        ("0::/\n", V2.format(top="/"), {MAX.format(""): "many\n"}, None),
        ("0::/\n", V2.format(top="/"), {MAX.format(""): "100000 0\n"}, None),
        ("1:name=systemd:/\n", V1.format(top="/"), v1("", 100000), None),
    ],
)
def test_the_smallest_quota_of_a_group_and_those_above_it_holds(
    membership: str, mounts: str, files: dict[str, str], expected: float | None, tmp_path: Path
) -> None:
    content = {"proc/self/cgroup": membership, "proc/self/mountinfo": DISK + mounts, **files}
    for name, text in content.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert processor_quota(tmp_path) == expected


def test_a_system_without_control_groups_has_no_quota(tmp_path: Path) -> None:
    assert processor_quota(tmp_path) is None


@pytest.mark.parametrize(
    ("quota", "threads"), [(None, 8), (64.0, 8), (2.0, 2), (1.5, 2), (0.5, 1), (0.0001, 1), (7.01, 8)]
)
def test_threads_follow_the_quota_rounded_up(
    quota: float | None, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processors, "usable_cpus", lambda: [*range(8)])
    monkeypatch.setattr(processors, "processor_quota", lambda: quota)
    assert thread_count() == threads
