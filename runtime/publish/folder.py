"""Published files and state objects in folders: the embedded stand-in for a public and a private bucket.

The published tree holds nothing but published files, so that any static server can serve it. What a bucket keeps as
metadata lives in a second folder beside the tree. It is filed under the SHA-256 of the very bytes it describes and is
written before them: one rename then changes body and metadata together, and bytes put there by somebody else have no
metadata at all.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from hashlib import sha256 as hash_of
from pathlib import Path

from runtime.errors import PreconditionFailed
from runtime.ports import Stored
from runtime.publish.files import FileWriter, explained
from runtime.publish.keys import checked_key, checked_name, public_url


class FolderPublisher:
    """The public bucket as a folder. Metadata goes to `private`, on the same file system; beside `root` if not given.

    An ETag is the quoted SHA-256 of the bytes on disk, so an edit by hand changes it.
    """

    def __init__(self, root: Path, base_url: str, *, private: Path | None = None) -> None:
        self._root = root
        self._base_url = base_url
        self._private = private or root.with_name(f".{root.name}-metadata")
        self._files = FileWriter(self._private)

    async def put_version(self, key: str, body: bytes, *, sha256: str) -> None:
        await asyncio.to_thread(self._put_version, checked_key(key), body, sha256)

    async def put(self, key: str, body: bytes, *, sha256: str, generation: int, expected_etag: str | None) -> str:
        return await asyncio.to_thread(self._put, checked_key(key), body, sha256, generation, expected_etag)

    async def read(self, key: str) -> Stored | None:
        return await asyncio.to_thread(self._read, checked_key(key))

    async def delete(self, key: str, *, expected_etag: str) -> None:
        await asyncio.to_thread(self._delete, checked_key(key), expected_etag)

    def url(self, key: str) -> str:
        return public_url(self._base_url, key)

    def _put_version(self, key: str, body: bytes, sha256: str) -> None:
        with self._files.exclusive():
            if self._read(key) is None:
                self._replace(key, body, {"sha256": sha256})

    def _put(self, key: str, body: bytes, sha256: str, generation: int, expected_etag: str | None) -> str:
        with self._files.exclusive():
            current = self._read(key)
            if (current.etag if current else None) == expected_etag:
                self._replace(key, body, {"sha256": sha256, "generation": generation})
            elif current is None or (current.body, current.sha256) != (body, sha256):
                raise PreconditionFailed(f"{key} was changed by somebody else: read it again before writing")
            return _etag(body)

    def _delete(self, key: str, expected_etag: str) -> None:
        with self._files.exclusive():
            current = self._read(key)
            if current is None:
                return
            if current.etag != expected_etag:
                raise PreconditionFailed(f"{key} was changed by somebody else: read it again before removing it")
            path = self._root / key
            path.unlink()
            self._files.sync_folder(path.parent)
            self._forget_metadata(key, but=None)
            _remove_empty(path.parent, self._root)

    def _read(self, key: str) -> Stored | None:
        body = _bytes_of(self._root / key, self._root)
        while body is not None:
            claimed = self._claimed_sha256(key, body)
            if claimed:
                return Stored(body, _etag(body), claimed)
            # No record: either the bytes are not ours, or they were replaced, with their record, since they were read.
            again = _bytes_of(self._root / key, self._root)
            if again == body:
                return Stored(body, _etag(body), "")
            body = again
        return None

    def _replace(self, key: str, body: bytes, metadata: dict[str, str | int]) -> None:
        about = self._metadata_path(key, body)
        self._files.replace(about, json.dumps({"key": key, **metadata}).encode())
        self._files.replace(self._root / key, body)
        self._forget_metadata(key, but=about)

    def _metadata_path(self, key: str, body: bytes) -> Path:
        return self._private / hash_of(key.encode()).hexdigest() / f"{hash_of(body).hexdigest()}.json"

    def _claimed_sha256(self, key: str, body: bytes) -> str:
        """What the writer of exactly these bytes said; empty when they are not ours or the record is damaged."""
        record = _bytes_of(self._metadata_path(key, body), self._private)
        try:
            claimed = json.loads(record or b"{}").get("sha256", "")
        except (ValueError, AttributeError):
            return ""
        return claimed if isinstance(claimed, str) else ""

    def _forget_metadata(self, key: str, *, but: Path | None) -> None:
        """Remove what described earlier bytes; a leftover does no harm, so failing here is no failure."""
        folder = self._metadata_path(key, b"").parent
        with suppress(OSError):
            for path in folder.iterdir():
                if path != but:
                    path.unlink()
            if but is None:
                folder.rmdir()


class FolderStates:
    """The private bucket as a folder: one file a site."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files = FileWriter(root / ".writing", mode=0o600)

    async def load(self, site_id: str) -> bytes | None:
        return await asyncio.to_thread(_bytes_of, self._root / checked_name(site_id), self._root)

    async def save(self, site_id: str, body: bytes) -> None:
        await asyncio.to_thread(self._save, checked_name(site_id), body)

    async def delete(self, site_id: str) -> None:
        await asyncio.to_thread(self._delete, checked_name(site_id))

    def _save(self, site_id: str, body: bytes) -> None:
        with self._files.exclusive():
            self._files.replace(self._root / site_id, body)

    def _delete(self, site_id: str) -> None:
        with self._files.exclusive():
            (self._root / site_id).unlink(missing_ok=True)
            self._files.sync_folder(self._root)


def _etag(body: bytes) -> str:
    return f'"{hash_of(body).hexdigest()}"'


def _bytes_of(path: Path, root: Path) -> bytes | None:
    """The bytes of a file; None when there is no file of that name (a folder is none)."""
    with explained(root):
        try:
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None


def _remove_empty(folder: Path, root: Path) -> None:
    """Remove `folder` and its parents below `root` as long as they are empty."""
    while folder != root:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
