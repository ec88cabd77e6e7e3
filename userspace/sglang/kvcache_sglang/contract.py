# SPDX-License-Identifier: MIT
"""SGLang's side of the contract: its own classes, or as much as we need of them.

Without SGLang these declarations serve the tests and the example.
"""

try:
    from sglang.srt.mem_cache.hicache_storage import HiCacheStorage
except ImportError:
    HiCacheStorage = None

if HiCacheStorage is not None:
    from sglang.srt.mem_cache import hicache_storage as _sglang

    # Versions before the v2 transfers lack these, and never ask for them.
    PoolTransferResult = getattr(_sglang, "PoolTransferResult", None)
else:
    from abc import ABC, abstractmethod
    from dataclasses import dataclass, field
    from typing import Any, Optional

    @dataclass
    class PoolTransfer:
        """Pages of one of the engine's pools: their keys, their host memory."""

        name: str
        host_indices: Any = None
        device_indices: Any = None
        keys: Optional[list] = None
        hit_policy: str = "all_pages"

    @dataclass
    class PoolTransferResult:
        """Pages that are there: of the prefix that is usable, and by pool."""

        kv_hit_pages: int
        extra_pool_hit_pages: dict
        restorable_prefix_pages: Optional[list] = None

    @dataclass
    class HiCacheStorageExtraInfo:
        prefix_keys: Optional[list] = None
        extra_info: Optional[dict] = None

    @dataclass
    class HiCacheStorageConfig:
        tp_rank: int = 0
        tp_size: int = 1
        pp_rank: int = 0
        pp_size: int = 1
        attn_cp_rank: int = 0
        attn_cp_size: int = 1
        is_mla_model: bool = False
        enable_storage_metrics: bool = False
        is_page_first_layout: bool = True
        model_name: Optional[str] = None
        tp_lcm_size: Optional[int] = None
        should_split_heads: bool = False
        extra_config: dict = field(default_factory=dict)

    class HiCacheStorage(ABC):
        """Abstract methods are those that SGLang's class has as abstract."""

        def register_mem_pool_host(self, mem_pool_host):
            self.mem_pool_host = mem_pool_host

        def register_mem_host_pool_v2(self, host_pool, host_pool_name):
            if not hasattr(self, "registered_pools"):
                self.registered_pools = {}
            self.registered_pools[host_pool_name] = host_pool

        @abstractmethod
        def get(self, key, target_location=None, target_sizes=None):
            ...

        @abstractmethod
        def batch_get(self, keys, target_locations=None, target_sizes=None):
            ...

        @abstractmethod
        def set(self, key, value=None, target_location=None, target_sizes=None):
            ...

        @abstractmethod
        def batch_set(self, keys, values=None, target_locations=None,
                      target_sizes=None):
            ...

        @abstractmethod
        def exists(self, key):
            ...

        def clear(self):
            ...

        def get_stats(self):
            return None
