"""run.sqlite: how it is created, opened and closed, and what an error of SQLite means to the user."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from answerkey import __version__
from answerkey.errors import StorageError

DATABASE = "run.sqlite"
FORMAT = 2
# Seconds to wait for another process. A page of the viewer reads for a moment; only a rollback
# journal makes the run wait for it.
_PATIENCE = 60.0
# Shared memory, which WAL needs, does not work across machines.
_NETWORK_FILE_SYSTEMS = frozenset(
    ("9p", "afs", "beegfs", "ceph", "cifs", "fuse.sshfs", "glusterfs", "lustre", "ncpfs", "nfs",
     "nfs4", "smb3", "smbfs", "vboxsf")
)  # fmt: skip


def open_to_write(folder: Path) -> sqlite3.Connection:
    """The database of a run, created where there is none. One process at a time may write it."""
    path = folder / DATABASE
    with naming_file(path, writing=True):
        # Asking and writing are done by different threads, one at a time.
        connection = sqlite3.connect(
            path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
        )
        # Rows of 2 to 3 kB would leave a third of the usual pages of 4 kB empty.
        connection.execute("PRAGMA page_size = 16384")
        # Each commit is on the disk when it returns, in either mode.
        connection.execute("PRAGMA synchronous = FULL")
        if is_network_folder(folder):
            mode = "DELETE"
        else:
            mode = "WAL"
        connection.execute(f"PRAGMA journal_mode = {mode}")
        # The usual 1,000 pages would let the write-ahead file of a small run grow to 16 MB.
        connection.execute("PRAGMA wal_autocheckpoint = 128")
        create_tables(connection)
        return connection


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables in an empty database; check the format of any other."""
    if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        _check_format(connection)
        return
    facts = f"INSERT INTO meta VALUES ('format', '{FORMAT}'), ('answerkey', '{__version__}');"
    # One transaction: a kill in the middle leaves no database with half of its tables.
    connection.executescript(f"BEGIN IMMEDIATE;{schema_text()}{facts}COMMIT;")


def temporary_database() -> sqlite3.Connection:
    """A database without a name: in memory as long as it is small."""
    connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    create_tables(connection)
    return connection


@cache
def schema_text() -> str:
    """schema.sql, which documents every column."""
    return (files("answerkey.runs") / "schema.sql").read_text(encoding="utf-8")


def open_to_read(folder: Path) -> sqlite3.Connection:
    """The database of a run that may be written at the same time."""
    path = folder / DATABASE
    with naming_file(path):
        try:
            return _connect_to_read(path, "mode=ro")
        except sqlite3.OperationalError:
            # A folder that may not be written: WAL cannot create its files there. Without them the
            # file is complete.
            if path.with_name(f"{DATABASE}-wal").exists() or not path.is_file():
                raise
            return _connect_to_read(path, "immutable=1")


def _connect_to_read(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        # A "?" or "#" in a folder's name would end the path of the address.
        f"file:{quote(str(path))}?{mode}",
        uri=True,
        timeout=_PATIENCE,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        _check_format(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_format(connection: sqlite3.Connection) -> None:
    row = connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    if row is None or row[0] != str(FORMAT):
        version = "none" if row is None else row[0]
        raise StorageError(
            f"{DATABASE}: format {version}, this version reads {FORMAT}; "
            "use the version that wrote it"
        )


def close_written(connection: sqlite3.Connection) -> None:
    """Close a database so that one file holds everything: it can be copied and read anywhere."""
    with suppress(sqlite3.Error):  # a reader keeps the journal; the next writer finds it
        # A reader must not hold up the end of a run for a minute.
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()


def storable(text: str) -> str:
    """Half a surrogate pair is no UTF-8: columns have it escaped, the JSON has it in full."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """All statements of the block or none; they are on the disk when it ends."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # SQLite may have rolled back already
            connection.execute("ROLLBACK")
        raise


@contextmanager
def naming_file(path: Path, *, writing: bool = False) -> Generator[None]:
    """An error of SQLite as one of ours, with the file and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        if writing:
            raise StorageError(
                f"{path}: cannot be written: {error}; nothing written before is lost: "
                "free some space or allow writing, then continue with --resume"
            ) from error
        raise DamagedDatabase(path, str(error)) from error


class DamagedDatabase(StorageError):
    """A database that SQLite cannot read, or not to its end."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(
            f"{path}: cannot be read: {reason}; continue with --resume to ask the lost cases again"
        )


def is_network_folder(folder: Path) -> bool:
    """Whether a folder is on another machine, as far as the system tells."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        # Only Linux has this file; elsewhere WAL is tried.
        return False
    path = folder.resolve()
    kinds = {Path(mount[1]): mount[2] for mount in mounts if len(mount) > 2}
    # The nearest mount counts: a network folder may lie inside a local one.
    nearest = next((parent for parent in (path, *path.parents) if parent in kinds), None)
    return nearest is not None and kinds[nearest] in _NETWORK_FILE_SYSTEMS
