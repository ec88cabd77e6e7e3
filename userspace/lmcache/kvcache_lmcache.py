# SPDX-License-Identifier: MIT
"""kvcache as LMCache's native_plugin connector.

It has the methods and the answers of LMCache's own connectors as Python sees
them: an operation is submitted and gets a number; threads of ours do it, a part
of its keys each; when all parts are done an event fd becomes readable, and
drain_completions() tells (number, ok, error, results).

An object is a hit or it isn't: only a store can fail.
"""

import errno
import itertools
import logging
import os
import threading
from concurrent.futures import ThreadPoolExecutor

from kvcache import DEVICE, Pool, address

__all__ = ["Connector"]

logger = logging.getLogger(__name__)


class _Operation:
    """One that is under way: its results come from several threads."""

    def __init__(self, number: int, keys: list, views: list, parts: int):
        self.number = number
        self.keys = keys
        # The caller's memory stays as long as we have addresses in it.
        self.views = views
        self.memory = [address(view) for view in views]
        self.done = [False] * len(keys)
        self.parts = parts
        self.error = ""


class Connector:
    """device, pool, tenant: as kvcache.Pool; namespace goes in front of keys."""

    def __init__(self, device: str = DEVICE, pool: int = 0, tenant: int = 0,
                 num_workers: int = 4, namespace: str = "",
                 get_deadline_ms: int = 60000, put_deadline_ms: int = 10000):
        if num_workers < 1:
            raise ValueError("num_workers must be at least 1")
        self._pool = Pool(device, pool, tenant, get_deadline_ms, put_deadline_ms)
        self._namespace = namespace.encode()
        self._workers = num_workers
        self._threads = ThreadPoolExecutor(num_workers, "kvcache")
        self._event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._numbers = itertools.count(1)
        # Guards the completions, what operations gather, and closing.
        self._lock = threading.Lock()
        self._completions = []
        self._closed = False

    def event_fd(self) -> int:
        return self._event

    # --- submitting ---

    def submit_batch_get(self, keys: list, memoryviews: list) -> int:
        """Results: which objects were there, and filled their memory exactly."""
        return self._submit(self._get, keys, memoryviews)

    def submit_batch_set(self, keys: list, memoryviews: list) -> int:
        """ok if all are stored, or were there; results tell which."""
        return self._submit(self._set, keys, [
            view if not memoryview(view).readonly else bytes(view)
            for view in memoryviews])

    def submit_batch_exists(self, keys: list) -> int:
        return self._submit(self._exists, keys)

    def submit_batch_delete(self, keys: list) -> int:
        """Results: which objects were there."""
        return self._submit(self._delete, keys)

    def _submit(self, function, keys, views=None) -> int:
        if not keys:
            raise RuntimeError("there are no keys")
        if views is not None and len(views) != len(keys):
            raise RuntimeError("there are not as many buffers as keys")
        size = -(-len(keys) // self._workers)
        starts = range(0, len(keys), size)
        operation = _Operation(
            next(self._numbers), [self._namespace + key.encode() for key in keys],
            list(views or ()), len(starts))
        with self._lock:
            if self._closed:
                raise RuntimeError("the connector is closed")
            for start in starts:
                self._threads.submit(self._run, function, operation,
                                     slice(start, start + size))
        return operation.number

    # --- in threads ---

    def _run(self, function, operation: _Operation, part: slice) -> None:
        done, error = [], ""
        try:
            done, error = function(operation.keys[part], operation.memory[part])
        except Exception as problem:  # so that the operation ends
            logger.exception("kvcache: an operation failed")
            error = str(problem) or repr(problem)
        with self._lock:
            operation.done[part] = done or operation.done[part]
            operation.error = operation.error or error
            operation.parts -= 1
            if operation.parts:
                return
            self._completions.append((operation.number, not operation.error,
                                      operation.error, operation.done))
            os.eventfd_write(self._event, 1)

    def _get(self, keys, memory):
        return [not result.error and result.length == size
                for result, (_, size) in zip(self._pool.get(keys, memory), memory)], ""

    def _set(self, keys, memory):
        done, error = [], ""
        for key, (_, size), result in zip(keys, memory, self._pool.put(keys, memory)):
            there = result.error == errno.EEXIST
            done.append(not result.error or (there and result.length == size))
            if not done[-1] and not error:
                why = (f"there with {result.length} bytes, not {size}" if there
                       else os.strerror(result.error))
                error = f"{key.decode(errors='replace')}: {why}"
        return done, error

    def _exists(self, keys, _memory):
        return [not result.error for result in self._pool.exists(keys)], ""

    def _delete(self, keys, _memory):
        return [not result.error for result in self._pool.delete(keys)], ""

    # --- completing ---

    def drain_completions(self) -> list:
        """All that are done: [(number, ok, error, results)]."""
        with self._lock:
            done, self._completions = self._completions, []
            if done and not self._closed:
                os.eventfd_read(self._event)
        return done

    def close(self) -> None:
        """Waits for what is under way; its completions are dropped. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._threads.shutdown()
        self._pool.close()
        with self._lock:
            os.close(self._event)
            self._event = -1
            self._completions = []
