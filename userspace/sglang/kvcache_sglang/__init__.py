# SPDX-License-Identifier: MIT
"""kvcache as SGLang's HiCache storage backend ("dynamic").

Pages move straight between flash and the engine's host pool. One object for each
key and value half of a page (one for both with MLA), one for a page of a
side pool. A key says what the bytes depend on:

    [tag_]model_layout_dtype_parallelism_HASH_rank_k

so that an engine that would lay the page out in another way never finds it.

Whatever the pool answers, the engine sees hits and misses, never an exception:

"""

import errno
import hashlib
import logging
import os
import time
from typing import List, Optional

from kvcache import DEVICE, Pool, address

from .contract import HiCacheStorage, PoolTransferResult

__all__ = ["KvcacheStorage"]

logger = logging.getLogger(__name__)

# A longer one is replaced by its hash; hashes, ranks and pools need the rest.
_NAMESPACE_MAX = 256
# Seconds between two messages that an operation fails.
_QUIET = 10


def _plain(name) -> str:
    """Of an enumeration its value, of a torch.dtype its name."""
    return str(getattr(name, "value", name)).replace("torch.", "")


def _size(memory) -> int:
    return memory[1] if isinstance(memory, tuple) else sum(m[1] for m in memory)


def _gather(pieces: list):
    """Memory as kvcache.Pool takes it."""
    pieces = [piece for piece in pieces if piece[1]]
    return pieces[0] if len(pieces) == 1 else pieces


class KvcacheStorage(HiCacheStorage):
    """extra_config, all optional: device, pool, tenant, get_deadline_ms,
    put_deadline_ms, extra_backend_tag, interface_v1 (see Documentation/engines.rst).
    """

    def __init__(self, storage_config=None, kwargs=None):
        config = storage_config
        extra = dict(getattr(config, "extra_config", None) or {}, **(kwargs or {}))

        def ask(name, default):
            value = getattr(config, name, None)
            return default if value is None else value

        self.registered_pools = {}
        self.mem_pool_host = None
        self._quiet_until = {}
        self._v1 = bool(extra.get("interface_v1", 0))
        self._tag = extra.get("extra_backend_tag")
        self._model = ask("model_name", "")
        self._mla = ask("is_mla_model", False)
        tp_rank, tp_size = ask("tp_rank", 0), ask("tp_size", 1)
        pp_rank, pp_size = ask("pp_rank", 0), ask("pp_size", 1)
        cp_rank, cp_size = ask("attn_cp_rank", 0), ask("attn_cp_size", 1)
        # All ranks of an MLA model hold the same: one of them writes.
        self._writes_shared = tp_rank == 0
        # With split heads a rank holds the pages of several smaller ranks.
        self._split, ranks = 1, [tp_rank]
        if ask("should_split_heads", False):
            self._split = config.tp_lcm_size // tp_size
            ranks = [tp_rank * self._split + i for i in range(self._split)]
            tp_size = config.tp_lcm_size
        tail = f"_{pp_rank}" if pp_size > 1 else ""
        if cp_size > 1:
            tail += f"_cp{cp_rank}"
        self._ranks = [f"{rank}{tail}" for rank in ranks]
        self._shared_rank = f"{pp_rank}" + (f"_cp{cp_rank}" if cp_size > 1 else "")
        self._parallel = [f"tp{tp_size}"] if not self._mla else []
        self._parallel += [f"pp{pp_size}"] if pp_size > 1 else []
        self._parallel += [f"cp{cp_size}"] if cp_size > 1 else []
        # Of ranks that don't share their pages, for pools of an MLA model.
        self._own_rank = f"tp{tp_size}_{tp_rank}{tail}"
        self._name_space(None)

        self._pool = Pool(
            extra.get("device", DEVICE), int(extra.get("pool", 0)),
            int(extra.get("tenant", 0)),
            int(extra.get("get_deadline_ms", 60000)),
            int(extra.get("put_deadline_ms", 10000)))

    # --- the engine's memory ---

    def register_mem_pool_host(self, mem_pool_host):
        super().register_mem_pool_host(mem_pool_host)
        self._name_space(mem_pool_host)
        logger.info("kvcache: objects are named %s_...", self._prefix)

    def _name_space(self, pool) -> None:
        parts = [self._tag, self._model.replace("/", "-"),
                 getattr(pool, "layout", None), _plain(getattr(pool, "dtype", "")),
                 *self._parallel]
        prefix = "_".join(str(part) for part in parts if part)
        if len(prefix.encode()) > _NAMESPACE_MAX:
            prefix = hashlib.sha256(prefix.encode()).hexdigest()
        self._prefix = prefix

    def _has_data(self) -> bool:
        """False for an anchor that only deals out indices of other pools."""
        return getattr(self.mem_pool_host, "kv_buffer", self) is not None

    def _page_memory(self, pool, host_indices, pages: int, split: int = 1) -> list:
        """For every page the pieces that the engine has it in."""
        if split > 1:
            at, sizes = pool.get_split_heads_page_buffer_meta(host_indices, split)
        else:
            at, sizes = pool.get_page_buffer_meta(host_indices)
        if isinstance(sizes, int):
            sizes = [sizes] * len(at)
        pieces = list(zip(map(int, at), map(int, sizes)))
        each, rest = divmod(len(pieces), pages)
        if not each or rest:
            raise ValueError(f"{len(pieces)} pieces of memory for {pages} pages")
        return [pieces[i:i + each] for i in range(0, len(pieces), each)]

    # --- names ---

    def _kv_names(self) -> list:
        """What follows the hash in the names of a page's objects."""
        if self._mla:
            return [f"{self._shared_rank}_k"]
        return [f"{rank}_{half}" for rank in self._ranks for half in "kv"]

    def _flat_names(self) -> list:
        """The same for pages that the engine copies out of its pool."""
        return [f"{self._shared_rank if self._mla else self._ranks[0]}_page"]

    def _is_shared(self, name: str) -> bool:
        """Is this pool's page the same on every rank?"""
        if not self._mla or name == "mamba":
            return False
        if name.startswith("draft"):
            return hasattr(self.registered_pools.get(name), "kv_lora_rank")
        return True

    def _pool_name(self, name: str) -> str:
        kind = _plain(getattr(self.registered_pools.get(name), "dtype", ""))
        if self._is_shared(name):
            return f"{self._shared_rank}_{name}{kind}"
        return f"{self._own_rank if self._mla else self._ranks[0]}_{name}{kind}"

    def _keys(self, keys: list, names: list) -> list:
        return [f"{self._prefix}_{key}_{name}".encode()
                for key in keys for name in names]

    # --- objects ---

    def _put(self, keys: list, memory: list, depth: list) -> List[bool]:
        done = []
        for result, pieces in zip(self._pool.put(keys, memory, depth), memory):
            # Of another size: of a model that should have another tag.
            same = result.error == errno.EEXIST and result.length == _size(pieces)
            done.append(0 if same else result.error)
        return self._told("put", done)

    def _get(self, keys: list, memory: list) -> List[bool]:
        done = []
        for result, pieces in zip(self._pool.get(keys, memory), memory):
            short = not result.error and result.transferred != _size(pieces)
            done.append(errno.EMSGSIZE if short else result.error)
        return self._told("get", done)

    def _there(self, keys: list) -> List[bool]:
        return self._told("exists", [r.error for r in self._pool.exists(keys)])

    def _told(self, what: str, errors: list) -> List[bool]:
        bad = [error for error in errors if error not in (0, errno.ENOENT)]
        if bad and time.monotonic() >= self._quiet_until.get(what, 0):
            self._quiet_until[what] = time.monotonic() + _QUIET
            logger.warning("kvcache: %s of %d of %d objects: %s", what, len(bad),
                           len(errors), os.strerror(bad[0]))
        return [not error for error in errors]

    @staticmethod
    def _by_page(done: List[bool], each: int) -> List[bool]:
        return [all(done[i:i + each]) for i in range(0, len(done), each)]

    @staticmethod
    def _leading(done: List[bool]) -> int:
        return done.index(False) if False in done else len(done)

    @staticmethod
    def _depths(pages: int, each: int, extra_info) -> list:
        """The place of pages in their prefix: the deeper are evicted first."""
        first = len(getattr(extra_info, "prefix_keys", None) or [])
        return [first + page for page in range(pages) for _ in range(each)]

    # --- pages of the KV pool ---

    def _kv_memory(self, host_indices, pages: int) -> list:
        """The pieces of each object, as _kv_names() has them for each page."""
        memory = []
        for pieces in self._page_memory(self.mem_pool_host, host_indices, pages,
                                        self._split):
            if self._mla:
                memory.append(_gather(pieces))
                continue
            # Halves take turns: by rank, or by layer if a page is scattered.
            each = len(pieces) // self._split
            for i in range(0, len(pieces), each):
                memory += [_gather(pieces[i:i + each:2]),
                           _gather(pieces[i + 1:i + each:2])]
        return memory

    def _kv_transfer(self, keys, host_indices, extra_info, put: bool) -> List[bool]:
        if not keys:
            return []
        if not self._has_data() or (put and self._mla and not self._writes_shared):
            return [True] * len(keys)
        names = self._kv_names()
        objects = self._keys(keys, names)
        memory = self._kv_memory(host_indices, len(keys))
        if put:
            depths = self._depths(len(keys), len(names), extra_info)
            done = self._put(objects, memory, depths)
        else:
            done = self._get(objects, memory)
        return self._by_page(done, len(names))

    def batch_get_v1(self, keys, host_indices, extra_info=None) -> List[bool]:
        return self._kv_transfer(keys, host_indices, extra_info, False)

    def batch_set_v1(self, keys, host_indices, extra_info=None) -> List[bool]:
        return self._kv_transfer(keys, host_indices, extra_info, True)

    def batch_exists(self, keys, extra_info=None) -> int:
        """How many pages from the first on are there."""
        names = self._kv_names() if self._v1 else self._flat_names()
        there = self._there(self._keys(keys, names))
        return self._leading(self._by_page(there, len(names)))

    # --- pages of any pool ---

    def _pool_transfer(self, transfer, extra_info, put: bool) -> List[bool]:
        name, keys = _plain(transfer.name), transfer.keys
        if name == "kv":
            return self._kv_transfer(keys, transfer.host_indices, extra_info, put)
        if put and self._is_shared(name) and not self._writes_shared:
            return [True] * len(keys)
        objects = self._keys(keys, [self._pool_name(name)])
        memory = [_gather(pieces) for pieces in
                  self._page_memory(self.registered_pools[name],
                                    transfer.host_indices, len(keys))]
        if put:
            return self._put(objects, memory,
                             self._depths(len(keys), 1, extra_info))
        return self._get(objects, memory)

    def register_mem_host_pool_v2(self, host_pool, host_pool_name):
        # The anchor came by register_mem_pool_host().
        if _plain(host_pool_name) != "kv":
            self.registered_pools[_plain(host_pool_name)] = host_pool

    def batch_get_v2(self, transfers, extra_info=None) -> dict:
        return {t.name: self._pool_transfer(t, extra_info, False)
                for t in transfers if t.keys}

    def batch_set_v2(self, transfers, extra_info=None) -> dict:
        return {t.name: self._pool_transfer(t, extra_info, True)
                for t in transfers if t.keys}

    def batch_exists_v2(self, keys, pool_transfers=None, extra_info=None):
        """The longest prefix that every pool can restore.

        A pool whose pages are all needed allows any prefix up to its first miss;
        one of which only the last pages are needed allows a prefix if the pages
        at the end of that are there.
        """
        pages = self.batch_exists(keys, extra_info) if self._has_data() else len(keys)
        hits = {"kv": pages} if pages else {}
        usable = set(range(1, pages + 1))
        for transfer in pool_transfers or []:
            there = self._there(self._keys(keys[:pages],
                                           [self._pool_name(_plain(transfer.name))]))
            if _plain(transfer.hit_policy) == "trailing_pages":
                window = max(1, len(transfer.keys or ()))
                ends = {end for end in range(1, pages + 1)
                        if all(there[max(0, end - window):end])}
            else:
                ends = set(range(1, self._leading(there) + 1))
            if ends:
                hits[transfer.name] = max(ends)
            usable &= ends
        result = PoolTransferResult(max(usable, default=0), hits)
        if hasattr(result, "restorable_prefix_pages"):
            result.restorable_prefix_pages = sorted(usable)
        return result

    # --- pages that the engine copies out of its pool (interface_v1 is off) ---

    def _locations(self, values, target_locations, target_sizes) -> list:
        if target_sizes is not None:
            return [(int(at), int(size))
                    for at, size in zip(target_locations, target_sizes)]
        return [address(value) for value in
                (values if values is not None else target_locations)]

    def batch_get(self, keys, target_locations=None, target_sizes=None) -> list:
        """Each target, filled; None: a miss."""
        if not keys:
            return []
        if target_locations is None:
            raise ValueError("memory to read into is needed")
        done = self._get(self._keys(keys, self._flat_names()),
                         self._locations(None, target_locations, target_sizes))
        return [target if ok else None for target, ok in zip(target_locations, done)]

    def get(self, key, target_location=None, target_sizes=None):
        return self.batch_get(
            [key], None if target_location is None else [target_location],
            None if target_sizes is None else [target_sizes])[0]

    def batch_set(self, keys, values=None, target_locations=None,
                  target_sizes=None) -> bool:
        if not keys:
            return True
        if values is None and target_locations is None:
            raise ValueError("memory to write from is needed")
        if self._mla and not self._writes_shared:
            return True
        if values is not None:
            values = [value.contiguous() if hasattr(value, "contiguous") else value
                      for value in values]
        memory = self._locations(values, target_locations, target_sizes)
        return all(self._put(self._keys(keys, self._flat_names()), memory,
                             self._depths(len(keys), 1, None)))

    def set(self, key, value=None, target_location=None, target_sizes=None) -> bool:
        return self.batch_set(
            [key], None if value is None else [value],
            None if target_location is None else [target_location],
            None if target_sizes is None else [target_sizes])

    def exists(self, key) -> bool:
        return self._there(self._keys([key], self._flat_names()))[0]

    # --- the rest ---

    def clear(self) -> Optional[bool]:
        """Delete this model's objects, of all ranks."""
        try:
            self._pool.clear(f"{self._prefix}_".encode())
        except OSError as error:
            logger.warning("kvcache: clear: %s", error)
            return False
        return True

    def close(self) -> None:
        self._pool.close()
