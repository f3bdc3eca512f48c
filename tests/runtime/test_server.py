"""The embedded server: private, clean, gone when its command is gone, and healed by the next one."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from simrunner.errors import ServerError
from simrunner.runtime import account, binaries, pgdata, server
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.database import create
from simrunner.runtime.server import embedded
from simrunner.runtime.settings import server_settings

ROOT = Path(__file__).parent.parent.parent
IS_ROOT = os.geteuid() == 0


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Yield a folder that any account can reach, with a space and a quote in its path."""
    folder = Path(tempfile.mkdtemp(prefix="sim 'r' ", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a cache of these tests alone, so that they know which slot they get."""
    use_cache(folder, monkeypatch)
    return folder


def use_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account, "ROOT_CACHE", folder / "simrunner")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))


def value(cluster: Cluster, query: str) -> str:
    with psycopg.connect(cluster.conninfo("postgres"), autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
        assert row is not None
        return str(row[0])


def slot_of(cluster: Cluster) -> Path:
    return Path(value(cluster, "SHOW data_directory")).parent


def is_running(pid: int) -> bool:
    """Whether a process lives; one that ended but was not yet waited for has no command line."""
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


def test_every_setting_is_in_force(cluster: Cluster) -> None:
    check_settings(cluster)


def test_every_setting_is_in_force_in_postgresql_16() -> None:
    with embedded(16) as cluster:
        check_settings(cluster)
        assert cluster.version_text.startswith("PostgreSQL 16.")


def check_settings(cluster: Cluster) -> None:
    for name, wanted in server_settings(cluster.major).items():
        assert value(cluster, f"SHOW {name}") == wanted, name


@pytest.mark.parametrize("setting", ["SHOW server_encoding", "SHOW client_encoding"])
def test_text_is_utf8(cluster: Cluster, setting: str) -> None:
    assert value(cluster, setting) == "UTF8"


def test_nobody_else_can_connect(cluster: Cluster) -> None:
    folder = Path(cluster.parameters["host"])
    assert value(cluster, "SHOW listen_addresses") == ""
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert folder.stat().st_uid == account.server_account().uid


def test_commands_at_the_same_time_have_servers_of_their_own(cluster: Cluster) -> None:
    with embedded() as other:
        assert other.parameters["host"] != cluster.parameters["host"]
        assert value(other, "SHOW data_directory") != value(cluster, "SHOW data_directory")


def test_nothing_runs_after_the_block_and_the_next_finds_the_cluster_again(cache: Path) -> None:
    with embedded() as first:
        folder = value(first, "SHOW data_directory")
    assert first.postmaster_pid is not None
    assert not is_running(first.postmaster_pid)
    assert sorted(entry.name for entry in Path(folder).parent.iterdir()) == [Path(folder).name, "lock", "log"]
    with embedded() as second:
        assert value(second, "SHOW data_directory") == folder


@pytest.mark.parametrize("failure", [KeyboardInterrupt, RuntimeError])
def test_an_exception_stops_the_server_even_with_a_stopped_backend(cache: Path, failure: type[BaseException]) -> None:
    pids: list[int] = []

    def fail() -> None:
        with embedded() as cluster, psycopg.connect(cluster.conninfo("postgres")) as connection:
            pids.extend((cluster.postmaster_pid or 0, connection.info.backend_pid))
            os.kill(connection.info.backend_pid, signal.SIGSTOP)
            raise failure

    with pytest.raises(failure):
        fail()
    assert [is_running(pid) for pid in pids] == [False, False]


@pytest.mark.parametrize("arguments", [(), ("stopped-backend",)])
def test_nothing_stays_when_the_command_is_killed(
    cache: Path, arguments: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    home = cache / "simrunner"
    starter = start(str(home if IS_ROOT else cache), *arguments)
    host, postmaster = read_lines(starter)
    starter.kill()
    starter.communicate()
    with embedded() as cluster:  # waits for what is still going, and takes the same slot
        assert cluster.parameters["host"] == host
        assert not is_running(int(postmaster))
        assert value(cluster, "SELECT count(*) FROM pg_database WHERE starts_with(datname, 'simrunner_run_')") == "0"
    (told,) = caplog.messages
    assert told.startswith(f"Cleared what an ended command had left in {cache / 'simrunner/pg18/0'}: ")
    assert "the folder of a socket, the database simrunner_run_starter_" in told


def test_another_slot_is_cleared_too(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    with embedded():
        starter = start(str(cache / "simrunner" if IS_ROOT else cache))
        _, postmaster = read_lines(starter)
        starter.kill()
        starter.communicate()
    wait_for_end(int(postmaster))
    left = cache / "simrunner/pg18/1"
    assert (left / "socket").exists()
    with embedded() as cluster:
        assert slot_of(cluster) == cache / "simrunner/pg18/0"
    assert [entry.name for entry in left.iterdir() if entry.name not in ("lock", "log")] == []
    assert "the folder of a socket, its cluster" in caplog.text


def test_the_files_of_a_database_that_nobody_knows(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As a crash in the middle of CREATE DATABASE leaves them."""
    with embedded() as cluster:
        orphan = slot_of(cluster) / Path(value(cluster, "SHOW data_directory")).name / "base/4294967295"
    orphan.mkdir()
    with embedded():
        assert not orphan.exists()
    assert "the files of database 4294967295" in caplog.text


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGQUIT])
def test_a_cluster_whose_server_was_killed_is_thrown_away(cache: Path, number: signal.Signals) -> None:
    """There are databases in it that nobody can drop any more."""
    folders: list[Path] = []

    def strike() -> None:
        with embedded() as cluster, create(cluster, "test"):
            folders.append(Path(value(cluster, "SHOW data_directory")))
            os.kill(cluster.postmaster_pid or 0, number)
            wait_for_end(cluster.postmaster_pid or 0)

    with pytest.raises(ServerError):
        strike()
    assert [folder.exists() for folder in folders] == [False]


def test_a_killed_command_takes_its_server_along(cache: Path) -> None:
    starter = start(str(cache / "simrunner" if IS_ROOT else cache))
    _, postmaster = read_lines(starter)
    starter.kill()
    starter.communicate()
    wait_for_end(int(postmaster))
    assert not list((cache / "simrunner/pg18/0").glob("data-*/postmaster.pid"))


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.runtime.starter", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def read_lines(starter: subprocess.Popen[str]) -> tuple[str, str]:
    assert starter.stdout is not None
    return starter.stdout.readline().strip(), starter.stdout.readline().strip()


def wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + 30
    while is_running(pid):
        assert time.monotonic() < deadline, "the server outlives its command"
        time.sleep(0.01)


def test_a_crashed_server_is_replaced(cache: Path) -> None:
    with embedded() as cluster, psycopg.connect(cluster.conninfo("postgres")) as connection:
        backend = connection.info.backend_pid
        os.kill(backend, signal.SIGSTOP)  # it cannot notice that its postmaster died
        os.kill(cluster.postmaster_pid or 0, signal.SIGKILL)
    assert not is_running(backend)
    with embedded() as cluster:
        assert value(cluster, "SELECT 1") == "1"


def test_a_stale_pid_file_with_the_pid_of_another_program_does_no_harm(cache: Path) -> None:
    with embedded() as cluster:
        data = Path(value(cluster, "SHOW data_directory"))
    lines = (str(os.getpid()), str(data), "1", "5432", "/nowhere", "", "  1  1", "ready   ")
    (data / "postmaster.pid").write_text("\n".join(lines))
    with embedded() as cluster:
        assert value(cluster, "SHOW data_directory") == str(data)


def test_a_damaged_data_folder_is_made_anew(cache: Path) -> None:
    with embedded() as cluster:
        data = Path(value(cluster, "SHOW data_directory"))
    (data / "global/pg_control").write_bytes(b"damaged")
    with embedded() as cluster:
        assert value(cluster, "SHOW data_directory") == str(data)


def test_a_data_folder_older_than_the_last_boot_is_made_anew(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with embedded() as cluster:
        before = Path(value(cluster, "SHOW data_directory"))
    (cache / "boot").write_text("another")
    monkeypatch.setattr(pgdata, "_BOOT_ID", cache / "boot")
    with embedded() as cluster:
        assert value(cluster, "SHOW data_directory") != str(before)
    assert not before.exists()


def test_the_environment_does_not_reach_the_server(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"LANG": "xx_YY.UTF-8", "LC_ALL": "xx_YY.UTF-8", "PGTZ": "Asia/Kathmandu", "PGOPTIONS": "-c nonsense=1"}
    variables |= {
        "PGHOST": "nowhere.invalid",
        "PGSERVICE": "missing",
        "PGDATESTYLE": "SQL",
        "PGDATA": "/nowhere",
        "TZ": "Asia/Kathmandu",
    }
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    monkeypatch.delenv("HOME")
    previous = os.umask(0o777)
    try:
        with embedded() as cluster:
            assert (value(cluster, "SHOW TimeZone"), value(cluster, "SHOW DateStyle")) == ("UTC", "ISO, MDY")
            assert value(cluster, "SELECT datcollate FROM pg_database WHERE datname = current_database()") == "C"
    finally:
        os.umask(previous)
    assert os.environ["PGTZ"] == "Asia/Kathmandu"


@pytest.mark.parametrize("name", ["x" * 100, "a,b"])
def test_a_socket_whose_path_cannot_be_used_is_put_elsewhere(cache: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    use_cache(account.open_folder(cache / name), monkeypatch)
    with embedded() as cluster:
        folder = Path(cluster.parameters["host"])
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert (slot_of(cluster) / "socket").readlink() == folder
    assert not folder.exists()


def test_the_log_says_why_a_server_does_not_start(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "server_settings", lambda _: {"shared_buffers": "nonsense"})
    with pytest.raises(ServerError, match="shared_buffers"), embedded():
        pass


def test_a_version_that_cannot_be_embedded() -> None:
    with pytest.raises(ServerError, match="PostgreSQL 17 cannot be embedded; there is 16, 18"), embedded(17):
        pass


def test_a_cache_that_cannot_be_made(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cache / "file").touch()
    use_cache(cache / "file", monkeypatch)
    with pytest.raises(ServerError, match="set XDG_CACHE_HOME"), embedded():
        pass


@pytest.mark.skipif(not IS_ROOT, reason="only root starts the server as another account")
def test_an_installation_that_the_account_cannot_reach_is_copied_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = binaries._package_folder()
    hidden = cache / "private"
    for name in (package.name, f"{package.name}.libs"):
        shutil.copytree(
            package.parent / name, hidden / name, ignore=shutil.ignore_patterns("include", "pginstall"), symlinks=True
        )
    hidden.chmod(0o700)
    monkeypatch.setattr(binaries, "_package_folder", lambda: hidden / package.name)
    with embedded() as cluster:
        assert value(cluster, "SELECT 1") == "1"
    used = binaries.binaries(18, account.server_account(), cache / "simrunner")
    assert used.is_relative_to(cache / "simrunner/binaries")
    assert [entry.suffix for entry in (cache / "simrunner/binaries").iterdir() if entry.is_file()] == [".lock"]


@pytest.mark.skipif(not IS_ROOT, reason="the other tests run as an ordinary user already")
@pytest.mark.parametrize("is_killed", [False, True])
def test_an_ordinary_user_runs_the_server_as_itself(cache: Path, monkeypatch: pytest.MonkeyPatch, is_killed: bool) -> None:
    user = pwd.getpwnam("daemon")
    own = Path(tempfile.mkdtemp(dir=cache))
    os.chown(own, user.pw_uid, user.pw_gid)
    use_cache(own, monkeypatch)

    def run() -> None:
        with embedded() as cluster:
            assert Path(f"/proc/{cluster.postmaster_pid}").stat().st_uid == user.pw_uid
            assert value(cluster, "SELECT 1") == "1"
            (own / "pid").write_text(str(cluster.postmaster_pid))
            if is_killed:
                os.kill(os.getpid(), signal.SIGKILL)

    assert exit_code_as(user, run) == (-signal.SIGKILL if is_killed else 0)
    wait_for_end(int((own / "pid").read_text()))


def exit_code_as(user: pwd.struct_passwd, action: Callable[[], None]) -> int:
    """Run an action in a forked process of another user and return its exit code."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.chdir("/")
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
            action()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
