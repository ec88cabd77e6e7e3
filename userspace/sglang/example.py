#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What SGLang does with the backend, in small: no SGLang and no GPU needed.

    example.py put      a server backs the pages of a prompt up
    example.py get      another one, perhaps on another host, finds and loads them

Ends with status 1 if a page is wrong, 2 if not all are stored or found. Needs a
pool that is attached. Documentation/engines.rst has it run in the lab.
"""

import argparse
import hashlib
import mmap
import time

from kvcache import address
from kvcache_sglang import KvcacheStorage
from kvcache_sglang.contract import HiCacheStorageConfig

PAGE_SIZE = 64  # tokens


class HostPool:
    """An engine's pinned host memory: pages of keys, then pages of values."""

    layout, dtype, page_size = "page_first", "bfloat16", PAGE_SIZE

    def __init__(self, pages, half):
        self.kv_buffer = mmap.mmap(-1, 2 * pages * half)
        self.base, _ = address(self.kv_buffer)
        self.pages, self.half = pages, half

    def get_page_buffer_meta(self, indices):
        at = []
        for token in indices[::PAGE_SIZE]:
            key = self.base + token // PAGE_SIZE * self.half
            at += [key, key + self.pages * self.half]
        return at, [self.half] * len(at)


def prompt(pages):
    """The tokens of a prompt, and the hash of each page, which covers its prefix."""
    last, hashes = b"", []
    for page in range(pages):
        tokens = range(page * PAGE_SIZE, (page + 1) * PAGE_SIZE)
        last = hashlib.sha256(last + repr(list(tokens)).encode()).digest()
        hashes.append(last.hex())
    return hashes


def content(digest, half):
    """Stands for the KV cache of a page: what depends on its tokens."""
    seed = bytes.fromhex(digest)
    return (seed * (2 * half // len(seed) + 1))[:2 * half]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("role", choices=("put", "get"))
    parser.add_argument("--pages", type=int, default=16)
    parser.add_argument("--half", type=int, default=1310720,
                        help="bytes of a page's keys (Llama-3-70B, TP 8)")
    parser.add_argument("--pool", type=int, default=0)
    args = parser.parse_args()

    # SGLang fills this in from its command line.
    config = HiCacheStorageConfig(
        tp_rank=0, tp_size=8, model_name="meta-llama/Llama-3-70B",
        extra_config={"interface_v1": 1, "pool": args.pool})
    backend = KvcacheStorage(config, {})
    host = HostPool(args.pages, args.half)
    backend.register_mem_pool_host(host)
    hashes, indices = prompt(args.pages), range(args.pages * PAGE_SIZE)
    total = 2 * args.half * args.pages

    if args.role == "put":
        for page, digest in enumerate(hashes):
            data, at = content(digest, args.half), page * args.half
            host.kv_buffer[at:at + args.half] = data[:args.half]
            at += args.pages * args.half
            host.kv_buffer[at:at + args.half] = data[args.half:]
        start = time.monotonic()
        done = sum(backend.batch_set_v1(hashes, indices))
        wrong = 0
    else:
        found = backend.batch_exists(hashes)
        print(f"of {args.pages} pages the first {found} are in the pool")
        start = time.monotonic()
        loaded = backend.batch_get_v1(hashes, indices)
        done, wrong = sum(loaded), 0
        for page, digest in enumerate(hashes):
            at, v = page * args.half, (args.pages + page) * args.half
            got = host.kv_buffer[at:at + args.half] + host.kv_buffer[v:v + args.half]
            wrong += loaded[page] and got != content(digest, args.half)
    seconds = time.monotonic() - start
    print(f"{args.role}: {done} of {args.pages} pages, {total >> 20} MiB in "
          f"{seconds:.2f} s, {wrong} wrong")
    backend.close()
    return 1 if wrong else 2 if done < args.pages else 0


if __name__ == "__main__":
    raise SystemExit(main())
