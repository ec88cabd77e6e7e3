# SPDX-License-Identifier: MIT
"""libkvcache for Python: what the engines' connectors use of it, by ctypes.

Memory is given as addresses, so that objects move straight between flash and
the caller's memory; the interpreter lock is not held meanwhile. A Pool may be
used by any number of threads at the same time.
"""

import ctypes
import errno
import os
import struct
from typing import Iterator, NamedTuple, Sequence, Union

__all__ = ["DEVICE", "KEY_MAX", "Info", "Object", "Pool", "Result", "address"]

DEVICE = "/dev/kvcache"
KEY_MAX = 512

# struct kvcache_io and struct kvcache_iovec of <linux/kvcache.h>
_IO = struct.Struct("=QHHIQQQQQQQiI16x")
_IOVEC = struct.Struct("=QQ")
_IO_IOVEC = 1 << 0
_SETTLE = 1 << 0
_DEPTH_MAX = 0xFFFF


class Result(NamedTuple):
    """What became of a key: 0 or a positive errno, and bytes."""

    error: int
    length: int
    transferred: int


class Object(NamedTuple):
    """An entry of a listing."""

    key: bytes
    length: int


class Info(NamedTuple):
    """Part of what kvc_info() tells; bytes and counts."""

    pool: int
    name: str
    capacity: int
    used: int
    live: int
    objects: int
    max_object: int


class _Call(ctypes.Structure):
    _fields_ = [
        ("tenant", ctypes.c_uint32),
        ("deadline_ms", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    ]


class _Object(ctypes.Structure):
    _fields_ = [
        ("key", ctypes.c_void_p),
        ("key_len", ctypes.c_size_t),
        ("length", ctypes.c_uint64),
        ("expiry", ctypes.c_uint64),
        ("tenant", ctypes.c_uint32),
        ("depth", ctypes.c_uint16),
    ]


class _Info(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("pool", ctypes.c_uint32),
        ("nr_members", ctypes.c_uint32),
        ("members", ctypes.c_uint64),
        ("uuid", ctypes.c_uint8 * 16),
        ("name", ctypes.c_char * 64),
        ("capacity", ctypes.c_uint64),
        ("used", ctypes.c_uint64),
        ("live", ctypes.c_uint64),
        ("objects", ctypes.c_uint64),
        ("max_object", ctypes.c_uint64),
        # The rest is for kvcachectl; libkvcache fills in all of it.
        ("rest", ctypes.c_uint8 * 1024),
    ]


def _load() -> ctypes.CDLL:
    lib = ctypes.CDLL(os.environ.get("LIBKVCACHE", "libkvcache.so.0"), use_errno=True)
    p, size = ctypes.c_void_p, ctypes.c_size_t
    for name, result, *arguments in (
        ("kvc_open", p, ctypes.c_char_p, ctypes.c_uint),
        ("kvc_close", None, p),
        ("kvc_batch_put", ctypes.c_ssize_t, p, p, p, size),
        ("kvc_batch_get", ctypes.c_ssize_t, p, p, p, size),
        ("kvc_batch_exists", ctypes.c_ssize_t, p, p, p, size),
        ("kvc_batch_delete", ctypes.c_ssize_t, p, p, p, size),
        ("kvc_list_open", p, p, p, p, size, ctypes.c_uint),
        ("kvc_list_next", ctypes.c_int, p, p),
        ("kvc_list_close", None, p),
        ("kvc_info", ctypes.c_int, p, p, p, ctypes.c_uint),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def address(memory) -> tuple:
    """(address, bytes) of bytes, a writable buffer or a tensor in host memory.

    The caller keeps it alive while it is used.
    """
    if hasattr(memory, "data_ptr"):
        if not memory.is_contiguous():
            raise ValueError("the tensor is not contiguous")
        return memory.data_ptr(), memory.numel() * memory.element_size()
    if isinstance(memory, bytes):
        return ctypes.cast(memory, ctypes.c_void_p).value, len(memory)
    length = memoryview(memory).nbytes
    if not length:
        return 0, 0
    # Of one byte, since ctypes keeps a type for every size of array.
    return ctypes.addressof(ctypes.c_char.from_buffer(memory)), length


Piece = tuple  # (address, bytes)
Memory = Union[Piece, Sequence[Piece]]


class Pool:
    """An attached pool.

    device, number: as kvc_open(3). tenant: whose keys. get_ms, put_ms:
    deadlines of a whole call, of gets, and of all else. Whatever they say, a call
    returns only when the kernel is done with the memory that it was given.
    """

    def __init__(self, device: str = DEVICE, number: int = 0, tenant: int = 0,
                 get_ms: int = 60000, put_ms: int = 10000):
        self._kvc = None
        self._lib = _load()
        self._get = _Call(tenant, get_ms, _SETTLE, 0)
        self._put = _Call(tenant, put_ms, _SETTLE, 0)
        self._kvc = self._lib.kvc_open(device.encode(), number)
        if not self._kvc:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error), device)

    def close(self) -> None:
        """Idempotent; no call may be under way."""
        kvc, self._kvc = self._kvc, None
        if kvc:
            self._lib.kvc_close(kvc)

    def __del__(self):
        self.close()

    def _handle(self):
        if not self._kvc:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self._kvc

    def put(self, keys: Sequence[bytes], memory: Sequence[Memory],
            depth: Sequence[int] = ()) -> list:
        """Store objects: a Result each. An object that is there is EEXIST."""
        return self._batch(self._lib.kvc_batch_put, self._put, keys, memory, depth)

    def get(self, keys: Sequence[bytes], memory: Sequence[Memory]) -> list:
        """Read whole objects into memory that may be larger: a Result each."""
        return self._batch(self._lib.kvc_batch_get, self._get, keys, memory)

    def exists(self, keys: Sequence[bytes]) -> list:
        """A Result each; ENOENT: a miss."""
        return self._batch(self._lib.kvc_batch_exists, self._put, keys)

    def delete(self, keys: Sequence[bytes]) -> list:
        """A Result each; ENOENT: it was not there."""
        return self._batch(self._lib.kvc_batch_delete, self._put, keys)

    def _batch(self, function, call: _Call, keys: Sequence[bytes],
               memory: Sequence[Memory] = (), depth: Sequence[int] = ()) -> list:
        """Any I/O error, also one of the call as a whole, is in the Results."""
        count = len(keys)
        if not count:
            return []
        if not self._kvc:
            return [Result(errno.EBADF, 0, 0)] * count
        all_keys = b"".join(keys)
        key_at = ctypes.cast(all_keys, ctypes.c_void_p).value
        ios = bytearray(count * _IO.size)
        keep = []
        for i, key in enumerate(keys):
            data, length, flags = 0, 0, 0
            if memory:
                piece = memory[i]
                if isinstance(piece, tuple):
                    data, length = piece
                else:
                    iov = bytearray(len(piece) * _IOVEC.size)
                    for j, (base, size) in enumerate(piece):
                        _IOVEC.pack_into(iov, j * _IOVEC.size, base, size)
                    keep.append(iov)
                    data, length, flags = address(iov)[0], len(piece), _IO_IOVEC
            _IO.pack_into(
                ios, i * _IO.size,
                # The kernel refuses a length of 0.
                key_at, len(key) if len(key) <= KEY_MAX else 0,
                min(depth[i], _DEPTH_MAX) if depth else 0,
                flags, data, length, 0, 0, 0, 0, 0, 0, 0)
            key_at += len(key)
        done = function(self._kvc, ctypes.byref(call), address(ios)[0], count)
        if done < 0:
            return [Result(-done, 0, 0)] * count
        return [Result(-io[11], io[9], io[10]) for io in _IO.iter_unpack(ios)]

    def list(self, prefix: bytes = b"") -> Iterator[Object]:
        """What is in the pool, of this tenant: reads media, so for management.

        Something may be listed twice. Raises OSError.
        """
        opened = self._lib.kvc_list_open(self._handle(), ctypes.byref(self._put),
                                         prefix, len(prefix), 0)
        if not opened:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        try:
            found = _Object()
            while True:
                more = self._lib.kvc_list_next(opened, ctypes.byref(found))
                if more < 0:
                    raise OSError(-more, os.strerror(-more))
                if not more:
                    return
                yield Object(ctypes.string_at(found.key, found.key_len), found.length)
        finally:
            self._lib.kvc_list_close(opened)

    def clear(self, prefix: bytes = b"", batch: int = 1024) -> int:
        """Delete all that begins with prefix: how many were. Raises OSError."""
        deleted, keys = 0, []

        def flush():
            results = self.delete(keys)
            keys.clear()
            return sum(not result.error for result in results)

        for found in self.list(prefix):
            keys.append(found.key)
            if len(keys) == batch:
                deleted += flush()
        return deleted + flush()

    def info(self) -> Info:
        """Raises OSError."""
        info = _Info()
        error = self._lib.kvc_info(self._handle(), ctypes.byref(info), None, 0)
        if error < 0:
            raise OSError(-error, os.strerror(-error))
        return Info(info.pool, info.name.decode(errors="replace"), info.capacity,
                    info.used, info.live, info.objects, info.max_object)
