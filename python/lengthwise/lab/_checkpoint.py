"""Trainings on disk: files that are whole or not there, with a checksum."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ..errors import FileError, StateError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: How files of this version begin.
MAGIC = b"lengthwise training 2 sha256 "
#: How files begin that have not their names yet.
UNFINISHED = ".lengthwise-"


def write(path: Path, data: bytes) -> None:
    """Writes a file that is there as a whole, or not at all."""
    unfinished = path.with_name(f"{UNFINISHED}{os.getpid()}-{path.name}")
    try:
        try:
            with unfinished.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}", hint=_hint(error)) from None


def _hint(error: OSError) -> str:
    """What to do about a file that cannot be written."""
    again = "; then run the same command again: it continues"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"free some space on the disk{again}"
    if error.errno == errno.EFBIG:
        return f"raise the limit on the size of files with `ulimit -f unlimited`{again}"
    return "check that the folder exists and can be written to, or name another folder with `--out`"


def save(path: Path, about: dict[str, Any], state: dict[str, Any]) -> None:
    """Saves a training: what is said ``about`` it, as JSON, and its tensors."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    data = json.dumps(about).encode() + b"\n" + buffer.getvalue()
    write(path, MAGIC + hashlib.sha256(data).hexdigest().encode() + b"\n" + data)


def load(path: Path, identity: str) -> tuple[dict[str, Any], bytes] | None:
    """Reads what is said about a training, and its tensors for :func:`tensors`. ``None`` if there is no such file.
    ``identity`` holds all settings that it depends on."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}", hint="make it readable, or begin anew with `--fresh`") from None
    again = "begin anew with `--fresh`, name another folder with `--out`, or delete this file to repeat this training only"
    if not data:
        raise StateError(f"{path}: the checkpoint is damaged: the file is empty", hint=again)
    head, _, content = data.partition(b"\n")
    if not head.startswith(MAGIC):
        raise StateError(f"{path}: expected a checkpoint of this version, got one of another version or another file", hint=again)
    if head[len(MAGIC) :].decode("ascii", "replace") != hashlib.sha256(content).hexdigest():
        raise StateError(f"{path}: the checkpoint is damaged: its checksum is not that of its content", hint=again)
    line, _, rest = content.partition(b"\n")
    about: dict[str, Any] = json.loads(line)
    if about["identity"] != identity:
        names = ", ".join(f"`{name}`" for name in _differing("", json.loads(about["identity"]), json.loads(identity)))
        raise StateError(f"{path}: the checkpoint was made with other settings or other data: {names}", hint=again)
    return about, rest


def _differing(name: str, one: Any, other: Any) -> Iterator[str]:
    """The names of what differs between two identities."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one | other:
            yield from _differing(f"{name}.{key}" if name else key, one.get(key), other.get(key))
    elif repr(one) != repr(other):  # 1 is not 1.0 here
        yield name


def tensors(path: Path, data: bytes) -> dict[str, Any]:
    """The tensors that :func:`load` has read."""
    try:
        state: dict[str, Any] = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except Exception as error:
        raise StateError(
            f"{path}: cannot read the checkpoint: {error}", hint="begin anew with `--fresh`, or delete this file"
        ) from None
    return state
