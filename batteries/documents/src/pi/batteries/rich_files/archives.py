"""Members of tar and zip archives: list, read, replace. Bytes in, bytes out; no file is opened.

Nothing is ever extracted to the disk, so a member called ``../x`` or a link cannot escape. A write
keeps the modes, links, dates and the order of all other members.
"""

from __future__ import annotations

import gzip
import io
import re
import stat
import tarfile
import time
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from pi.extension import Record, ToolFailed, one_line

Kind: TypeAlias = Literal["tar", "tgz", "zip"]

MAX_ARCHIVE = 256 * 1024**2
MAX_MEMBER = 64 * 1024**2
MAX_MEMBERS = 100_000
MAX_RATIO = 200
"""Unpacked bytes per packed byte above which an archive is refused as a bomb."""
SMALL = 1024**2
"""Unpacked sizes up to this are never a bomb: a file of zeros compresses a thousandfold."""
SUFFIXES: dict[str, Kind] = {".tar.gz": "tgz", ".tgz": "tgz", ".tar": "tar", ".zip": "zip"}
_NAMES = re.compile(r"\.(?:tar\.gz|tgz|tar|zip)(?=:|$)", re.IGNORECASE)
MAX_SHOWN = 200
"""Characters of a name in a message."""
_CHUNK = 1024**2
_EPOCH_OF_ZIP = (1980, 1, 1, 0, 0, 0)
_ENCRYPTED = 0x1


class ArchivePath(Record):
    """An archive, and a path inside it; empty for the archive itself."""

    archive: str
    inner: str = ""
    has_colon: bool = False


class ArchiveMember(Record):
    """A member, for lists."""

    name: str
    size: int = 0
    kind: Literal["file", "directory", "link", "other"] = "file"
    mode: int | None = None
    target: str = ""


def archive_paths(path: str) -> Iterator[ArchivePath]:
    """Yield every split of ``path`` into an archive and a path inside it; longest archive first.

    ``a.zip:b.zip:c`` may be the member ``c`` of the file ``a.zip:b.zip``.
    """
    for match in reversed([*_NAMES.finditer(path)]):
        rest = path[match.end() :]
        yield ArchivePath(archive=path[: match.end()], inner=rest[1:], has_colon=bool(rest))


def kind_of(path: str) -> Kind:
    """The format of an archive, from its suffix."""
    lower = path.lower()
    return next(kind for suffix, kind in SUFFIXES.items() if lower.endswith(suffix))


def clean_inner(inner: str, *, for_write: bool = False) -> str:
    """Return the path inside an archive without empty and ``.`` parts.

    Raises ``ToolFailed`` for ``..``, and for a write that targets no file.
    """
    inner = inner.replace("\\", "/")
    parts = [part for part in inner.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ToolFailed("Archive path cannot contain '..'")
    if for_write and not parts:
        raise ToolFailed("Archive write path must target a file inside the archive")
    if for_write and inner.endswith("/"):
        raise ToolFailed("Archive write path must target a file, not a directory")
    return "/".join(parts)


def members(data: bytes, kind: Kind) -> list[ArchiveMember]:
    """List the members in the order of the archive."""
    with _readable(kind):
        if kind == "zip":
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                return [_zip_member(info) for info in _zip_infos(archive)]
        with _open_tar(data, kind) as tar:
            return [_tar_member(info) for info in _tar_infos(tar)]


def read_member(data: bytes, kind: Kind, name: str) -> bytes:
    """Return the content of a member. Raises ``ToolFailed`` if it is missing, or no file."""
    with _readable(kind):
        if kind == "zip":
            return _read_zip(data, name)
        with _open_tar(data, kind) as tar:
            # Of several members with one name the last one counts, as when unpacking.
            matches = [info for info in _tar_infos(tar) if clean_name(info.name) == name]
            if not matches:
                raise ToolFailed(_missing(name, [info.name for info in tar.getmembers()]))
            info = matches[-1]
            if info.issym() or info.islnk():
                raise ToolFailed(_is_link(name, info.linkname))
            if not info.isfile():
                raise ToolFailed(f"{_display_name(name)} is not a file.")
            _check_size(info.size, name)
            source = tar.extractfile(info)
            assert source is not None
            content = source.read(MAX_MEMBER + 1)
            if len(content) != info.size:
                raise ToolFailed(f"The archive is truncated: {_display_name(name)} is incomplete.")
            return content


def write_member(data: bytes | None, kind: Kind, name: str, content: bytes, *, now: int) -> bytes:
    """Return the archive with one member replaced or appended; ``None`` is a new archive.

    ``now`` is the time of the member in seconds since 1970.
    """
    _check_size(len(content), name)
    with _readable(kind):
        changed = (
            _write_zip(data, name, content, now)
            if kind == "zip"
            else _write_tar(data, kind, name, content, now)
        )
    if len(changed) > MAX_ARCHIVE:
        raise ToolFailed(f"The archive would be larger than {MAX_ARCHIVE >> 20} MiB.")
    return changed


# Zip ----------------------------------------------------------------------------------------------


def _zip_infos(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    infos = archive.infolist()
    _check_count(len(infos))
    if any(info.flag_bits & _ENCRYPTED for info in infos):
        raise ToolFailed("The archive is encrypted; encrypted archives are not supported.")
    _check_ratio(sum(i.file_size for i in infos), sum(i.compress_size for i in infos))
    return infos


def _zip_member(info: zipfile.ZipInfo) -> ArchiveMember:
    mode = info.external_attr >> 16
    is_link = stat.S_ISLNK(mode)
    kind: Literal["file", "directory", "link"] = "file"
    if info.is_dir():
        kind = "directory"
    elif is_link:
        kind = "link"
    return ArchiveMember(
        name=info.filename, size=info.file_size, kind=kind, mode=stat.S_IMODE(mode) or None
    )


def _read_zip(data: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        infos = _zip_infos(archive)
        matches = [info for info in infos if clean_name(info.filename) == name]
        if not matches:
            raise ToolFailed(_missing(name, [info.filename for info in infos]))
        info = matches[-1]
        if info.is_dir():
            raise ToolFailed(f"{_display_name(name)} is not a file.")
        content = _unpack(archive, info)
        if stat.S_ISLNK(info.external_attr >> 16):
            raise ToolFailed(_is_link(name, content.decode("utf-8", "replace")))
        return content


def _unpack(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Unpack a member up to the limit: the size in the header may be wrong."""
    _check_size(info.file_size, info.filename)
    with archive.open(info) as source:
        content = source.read(MAX_MEMBER + 1)
    _check_size(len(content), info.filename)
    _check_ratio(len(content), info.compress_size)
    return content


def _write_zip(data: bytes | None, name: str, content: bytes, now: int) -> bytes:
    out = io.BytesIO()
    date = max(time.gmtime(now)[:6], _EPOCH_OF_ZIP)
    fresh = zipfile.ZipInfo(name, date)
    fresh.external_attr = (stat.S_IFREG | 0o644) << 16
    fresh.compress_type = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(out, "w") as new:
        replaced = False
        if data is not None:
            with zipfile.ZipFile(io.BytesIO(data)) as old:
                new.comment = old.comment
                infos = _zip_infos(old)
                if infos and min(info.header_offset for info in infos) > 0:
                    raise ToolFailed(
                        "The archive begins with other data, like a program that unpacks itself;"
                        " a write would lose it."
                    )
                _check_total(sum(info.file_size for info in infos))
                for info in infos:
                    if clean_name(info.filename) != name or info.is_dir():
                        # Archives may have a name twice; the library would print a warning.
                        new.NameToInfo.pop(info.filename, None)
                        new.writestr(info, _unpack(old, info), info.compress_type)
                    elif not replaced:
                        if not stat.S_ISLNK(info.external_attr >> 16):
                            fresh.external_attr = info.external_attr
                            fresh.create_system = info.create_system
                        fresh.filename = info.filename
                        new.writestr(fresh, content)
                        replaced = True
        if not replaced:
            new.writestr(fresh, content)
    return out.getvalue()


# Tar ----------------------------------------------------------------------------------------------


class _BoundedGzip:
    """Unpacks in pieces, in bounded memory. Raises ``ToolFailed`` once a limit is exceeded."""

    def __init__(self, data: bytes) -> None:
        self._packed = len(data)
        self._source = gzip.GzipFile(fileobj=io.BytesIO(data))
        self._position = 0
        self.mode = "rb"
        self.close = self._source.close
        """Releases the memory."""

    def read(self, size: int) -> bytes:
        """The next bytes."""
        piece = self._source.read(size)
        self._position += len(piece)
        _check_ratio(self._position, self._packed)
        _check_total(self._position)
        return piece

    def seek(self, position: int) -> int:
        """Unpack up to a place; for a place before the current one, from the beginning."""
        if position < self._position:
            self._source.rewind()
            self._position = 0
        while self._position < position and self.read(min(position - self._position, _CHUNK)):
            pass
        return self._position

    def tell(self) -> int:
        """The current place."""
        return self._position


def _open_tar(data: bytes, kind: Kind) -> tarfile.TarFile:
    source: Any = _BoundedGzip(data) if kind == "tgz" else io.BytesIO(data)
    return tarfile.open(fileobj=source, mode="r:", errorlevel=1)


def _tar_infos(tar: tarfile.TarFile) -> list[tarfile.TarInfo]:
    infos = []
    for info in tar:
        infos.append(info)
        _check_count(len(infos))
    # The library treats a damaged header as the end. A write would lose all members after it.
    source: Any = tar.fileobj
    source.seek(tar.offset)
    while piece := source.read(_CHUNK):
        if piece.strip(b"\0"):
            raise ToolFailed(
                f"The archive is damaged: there is no valid member at byte {tar.offset:,}."
            )
    return infos


def _tar_member(info: tarfile.TarInfo) -> ArchiveMember:
    kind: Literal["file", "directory", "link", "other"] = "other"
    if info.isfile():
        kind = "file"
    elif info.isdir():
        kind = "directory"
    elif info.issym() or info.islnk():
        kind = "link"
    return ArchiveMember(
        name=info.name, size=info.size, kind=kind, mode=info.mode, target=info.linkname
    )


def _write_tar(data: bytes | None, kind: Kind, name: str, content: bytes, now: int) -> bytes:
    out = io.BytesIO()
    fresh = tarfile.TarInfo(name)
    fresh.size, fresh.mtime, fresh.mode = len(content), now, 0o644
    # A fixed time in the gzip header: equal contents result in equal bytes.
    packing = gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) if kind == "tgz" else out
    with tarfile.open(fileobj=packing, mode="w:", format=tarfile.PAX_FORMAT) as new:
        replaced = False
        if data is not None:
            with _open_tar(data, kind) as old:
                infos = _tar_infos(old)
                new.pax_headers = dict(old.pax_headers)
                for info in infos:
                    if clean_name(info.name) == name and not info.isdir():
                        if not replaced:
                            new.addfile(_with_metadata_of(fresh, info), io.BytesIO(content))
                            replaced = True
                        continue
                    source = old.extractfile(info) if info.isfile() else None
                    new.addfile(info, source)
        if not replaced:
            new.addfile(fresh, io.BytesIO(content))
    if packing is not out:
        packing.close()
    return out.getvalue()


def _with_metadata_of(fresh: tarfile.TarInfo, old: tarfile.TarInfo) -> tarfile.TarInfo:
    """``fresh`` with the name and, if that was a file, mode and owner of a replaced member."""
    fresh.name = old.name
    if old.isfile():
        fresh.mode, fresh.uid, fresh.gid = old.mode, old.uid, old.gid
        fresh.uname, fresh.gname = old.uname, old.gname
    return fresh


# Limits and errors --------------------------------------------------------------------------------


def clean_name(name: str) -> str:
    """The name of a member without empty and ``.`` parts, as paths address it."""
    return "/".join(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))


def _is_link(name: str, target: str) -> str:
    # Names come from the archive: they may contain any characters, at any length.
    return f"{_display_name(name)} is a link to {_display_name(target)}; read its target instead."


def _display_name(name: str) -> str:
    return one_line(name)[:MAX_SHOWN]


def _missing(name: str, names: list[str]) -> str:
    names_text = ", ".join(map(_display_name, names[:20])) + (
        f" and {len(names) - 20} more" if len(names) > 20 else ""
    )
    return (
        f"There is no {_display_name(name)} in the archive. It has: {names_text or 'no members'}."
    )


def _check_size(size: int, name: str) -> None:
    if size > MAX_MEMBER:
        raise ToolFailed(
            f"{_display_name(name)} is too large: {size >> 20} MiB;"
            f" the limit is {MAX_MEMBER >> 20} MiB per member."
        )


def _check_total(size: int) -> None:
    if size > MAX_ARCHIVE:
        raise ToolFailed(
            f"The archive is too large: it unpacks to more than {MAX_ARCHIVE >> 20} MiB."
        )


def _check_count(count: int) -> None:
    if count > MAX_MEMBERS:
        raise ToolFailed(f"The archive has more than {MAX_MEMBERS:,} members.")


def _check_ratio(unpacked: int, packed: int) -> None:
    if unpacked > SMALL and unpacked > packed * MAX_RATIO:
        raise ToolFailed(
            f"The archive was refused: it unpacks to more than {MAX_RATIO} times its size,"
            " like an archive that is made to fill the memory."
        )


class _readable:
    """Context manager: turns the many errors of damaged archives into ``ToolFailed``."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        match error:
            case ToolFailed() | None:
                return
            case NotImplementedError():
                raise ToolFailed(
                    f"The archive cannot be read: {_display_name(str(error))}."
                ) from error
            case RuntimeError() if "password" in str(error) or "encrypted" in str(error):
                raise ToolFailed(
                    "The archive is encrypted; encrypted archives are not supported."
                ) from error
            case (
                zipfile.BadZipFile()
                | tarfile.TarError()
                | zlib.error()
                | EOFError()
                | OSError()
                | ValueError()
                | OverflowError()
                | RuntimeError()
                | IndexError()
                | KeyError()
            ):
                name = {"zip": "zip", "tar": "tar", "tgz": "tar.gz"}[self._kind]
                raise ToolFailed(
                    f"The archive is damaged or not a {name} archive: {_display_name(str(error))}."
                ) from error
