import shutil

from policy_inertia import room


def test_free_memory_is_what_the_kernel_says_is_available(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(room, "CGROUP", tmp_path)
    whole = room.free_memory()  # neither file is there: all of the machine's memory
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemFree: 3 kB\nMemAvailable:    5 kB\n")
    assert room.free_memory() == 5 * 1024 < whole


def test_a_containers_limit_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "CGROUP", tmp_path)
    (tmp_path / "memory.stat").write_text("anon 300\nfile 7\n")
    for limit, free in (("1000\n", 700), ("200\n", 0)):
        (tmp_path / "memory.max").write_text(limit)
        assert room.free_memory() == free
    (tmp_path / "memory.max").write_text("max\n")
    assert room.free_memory() > 10**6


def test_free_disk_is_that_of_the_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda f: shutil._ntuple_diskusage(9, 5, 4))
    assert room.free_disk(tmp_path) == 4
