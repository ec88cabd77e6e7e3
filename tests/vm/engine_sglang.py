#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The SGLang backend, called in the ways that SGLang's cache controller calls it."""

import hashlib
import importlib
import json
import os
import re
import sys
import threading

sys.path.append(os.path.join(os.path.dirname(__file__), "common"))

from engines import (MEMBERS, Memory, check, content, ctl,  # noqa: E402
                     example, make_pool)
import engines  # noqa: E402
from kvcache import Pool  # noqa: E402
from kvcache_sglang import contract  # noqa: E402

BATCH = 128  # pages that the controller passes at a time
PAGE = 64  # tokens
DOCS = "/repo/Documentation/engines.rst"


def extra_config():
    """The line that the guide tells people to pass."""
    with open(DOCS, encoding="utf-8") as guide:
        line = re.search(r"--hicache-storage-backend-extra-config\s+'(\{.*?\})'",
                         guide.read(), re.S).group(1)
    return json.loads(line)


class Indices(list):
    """Of tokens in a host pool: as a tensor of them."""

    def tolist(self):
        return list(self)

    def __getitem__(self, where):
        got = super().__getitem__(where)
        return Indices(got) if isinstance(where, slice) else got


def tokens_of(pages):
    return Indices(page * PAGE + i for page in pages for i in range(PAGE))


class HostPool:
    """Pages of one or two halves, whole or scattered over layers."""

    page_size, dtype = PAGE, "torch.bfloat16"

    def __init__(self, pages, half, halves=2, layout="page_first", layers=8):
        self.pages, self.half, self.halves = pages, half, halves
        self.layout = layout
        self.layers = layers if layout == "layer_first" else 1
        self.kv_buffer = Memory(pages * half * halves)

    def pieces(self, page):
        """Offset and size, in the order in which the engine names them."""
        size = self.half // self.layers
        return [((h * self.layers + layer) * self.pages * size + page * size, size)
                for layer in range(self.layers) for h in range(self.halves)]

    def get_page_buffer_meta(self, indices):
        assert len(indices) % PAGE == 0
        pieces = [piece for token in indices.tolist()[::PAGE]
                  for piece in self.pieces(token // PAGE)]
        return [self.kv_buffer.at + at for at, _ in pieces], [s for _, s in pieces]

    def get_split_heads_page_buffer_meta(self, indices, split):
        at, sizes = self.get_page_buffer_meta(indices)
        size = self.half // split
        return ([base + part * size for i in range(0, len(at), 2)
                 for part in range(split) for base in at[i:i + 2]],
                [size] * len(at) * split)

    def write(self, page, data):
        done = 0
        for at, size in self.pieces(page):
            self.kv_buffer[at:at + size] = data[done:done + size]
            done += size

    def read(self, page):
        return b"".join(self.kv_buffer[at:at + size] for at, size in self.pieces(page))


class StatePool:
    """One page a token, of parts of different sizes, as states of Mamba have."""

    page_size = 1

    def __init__(self, pages, sizes):
        self.sizes = sizes
        self.buffers = [Memory(max(1, pages * size)) for size in sizes]

    def get_page_buffer_meta(self, indices):
        return ([buffer.at + i * size for i in indices.tolist()
                 for buffer, size in zip(self.buffers, self.sizes)],
                self.sizes * len(indices))

    def write(self, page, data):
        done = 0
        for buffer, size in zip(self.buffers, self.sizes):
            buffer[page * size:(page + 1) * size] = data[done:done + size]
            done += size

    def read(self, page):
        return b"".join(buffer[page * size:(page + 1) * size]
                        for buffer, size in zip(self.buffers, self.sizes))


class Engine:
    """A rank of a server: what its factory and its cache controller do."""

    def __init__(self, model, host, mla=False, rank=0, size=1, lcm=None, **extra):
        config = extra_config()
        config.update(extra)
        module = importlib.import_module(config["module_path"])
        kind = getattr(module, config["class_name"])
        if not issubclass(kind, contract.HiCacheStorage):
            raise TypeError("not a HiCacheStorage")
        self.host = host
        self.skip = mla and rank != 0
        self.backend = kind(contract.HiCacheStorageConfig(
            tp_rank=rank, tp_size=size, is_mla_model=mla, model_name=model,
            tp_lcm_size=lcm, should_split_heads=bool(lcm and lcm > size),
            extra_config=config), {})
        self.backend.register_mem_pool_host(host)

    def hits(self, hashes):
        found, prefix = 0, []
        for i in range(0, len(hashes), BATCH):
            batch = hashes[i:i + BATCH]
            info = contract.HiCacheStorageExtraInfo(prefix_keys=list(prefix))
            here = self.backend.batch_exists(batch, info)
            found += here
            if here < len(batch):
                break
            prefix += batch
        return found

    def _each(self, function, hashes, indices):
        done, prefix = [], []
        for i in range(0, len(hashes), BATCH):
            batch = hashes[i:i + BATCH]
            info = contract.HiCacheStorageExtraInfo(prefix_keys=list(prefix))
            done += function(batch, indices[i * PAGE:(i + len(batch)) * PAGE], info)
            prefix += batch
        return done

    def backup(self, hashes, indices):
        return self._each(self.backend.batch_set_v1, hashes, indices)

    def load(self, hashes, indices):
        return self._each(self.backend.batch_get_v1, hashes, indices)


def chain(label, pages):
    last, hashes = b"", []
    for page in range(pages):
        last = hashlib.sha256(last + f"{label}{page}".encode()).digest()
        hashes.append(last.hex())
    return hashes


def objects_of(pool, part):
    return [found.key for found in pool.list() if part.encode() in found.key]


def one_size(raw, label, pages, half, **how):
    """The life of pages: not there, backed up, backed up again, loaded, lost."""
    mla = how.pop("mla", False)
    layout = how.pop("layout", "page_first")
    host = HostPool(pages, half, 1 if mla else 2, layout)
    engine = Engine(label, host, mla, **how)
    hashes, indices = chain(label, pages), tokens_of(range(pages))
    data = [content(len(label) * 1000 + page, half * host.halves)
            for page in range(pages)]
    text = f"{label}: {pages} pages of {half * host.halves} bytes"

    host.kv_buffer.fill(0xa5)
    missed = engine.hits(hashes) == 0 and not any(engine.load(hashes, indices))
    untouched = host.read(0) == b"\xa5" * (half * host.halves)
    check(missed and untouched, f"{text}: nothing is found at first")

    for page in range(pages):
        host.write(page, data[page])
    before = raw.info().objects
    check(all(engine.backup(hashes, indices)) and
          raw.info().objects - before == pages * host.halves,
          f"{text}: backed up, {host.halves} objects each")
    check(engine.hits(hashes) == pages and all(engine.backup(hashes, indices)) and
          raw.info().objects - before == pages * host.halves,
          f"{text}: found, and a second backup adds nothing")

    # Into other places of another server's memory, in the other order.
    other = HostPool(pages, half, host.halves, layout)
    reader = Engine(label, other, mla, **how)
    back = tokens_of(reversed(range(pages)))
    loaded = reader.load(hashes, back)
    check(all(loaded) and all(other.read(pages - 1 - page) == data[page]
                              for page in range(pages)),
          f"{text}: another server loads every byte")

    victim = pages // 2
    lost = [key for key in objects_of(raw, hashes[victim])][-1:]
    other.kv_buffer.fill(0)
    gone = all(not result.error for result in raw.delete(lost))
    loaded = reader.load(hashes, back)
    check(gone and engine.hits(hashes) == victim and
          loaded == [page != victim for page in range(pages)] and
          all(other.read(pages - 1 - page) == data[page]
              for page in range(pages) if page != victim),
          f"{text}: without one of its objects the prefix ends before a page")
    return engine


def sizes(raw):
    one_size(raw, "DeepSeek-V3", 5, 4497408, mla=True)
    one_size(raw, "Llama-3-70B", 6, 1310720, rank=3, size=8)
    one_size(raw, "Qwen3-8B", 2, 4718592)
    one_size(raw, "DeepSeek-V3-small", 128, 70272, mla=True)
    one_size(raw, "Llama-3-small", 128, 20480, layout="layer_first", rank=1, size=8)
    one_size(raw, "odd", 9, 100028 // 4 * 2 + 1)
    engine = one_size(raw, "long", 300, 1024)
    other = Engine("longer", HostPool(300, 1024))
    hashes, indices = chain("longer", 300), tokens_of(range(300))
    other.backup(hashes, indices)
    before = raw.info().objects
    check(engine.backend.clear() and raw.info().objects == before - 599 and
          engine.hits(chain("long", 300)) == 0 and other.hits(hashes) == 300,
          "clear takes what is the model's, and nothing else")


def ranks():
    hashes, indices = chain("ranks", 4), tokens_of(range(4))
    host = [HostPool(4, 8192) for _ in range(4)]
    one = Engine("ranks", host[0], rank=0, size=2)
    two = Engine("ranks", host[1], rank=1, size=2)
    wide = Engine("ranks", host[2], rank=0, size=4)
    check(all(one.backup(hashes, indices)) and two.hits(hashes) == 0 and
          wide.hits(hashes) == 0 and one.hits(hashes) == 4,
          "a rank's pages are its own, and its number of ranks'")

    shared = [HostPool(4, 8192, 1) for _ in range(2)]
    first = Engine("mla", shared[0], True, rank=0, size=2)
    second = Engine("mla", shared[1], True, rank=1, size=2)
    data = [content(page, 8192) for page in range(4)]
    for page in range(4):
        shared[0].write(page, data[page])
    quiet = all(second.backup(hashes, indices)) and first.hits(hashes) == 0
    check(quiet and all(first.backup(hashes, indices)) and
          second.hits(hashes) == 4 and all(second.load(hashes, indices)) and
          all(shared[1].read(page) == data[page] for page in range(4)),
          "with MLA rank 0 alone writes, all read")

    whole = HostPool(4, 8192, layout="page_head")
    half = [HostPool(4, 4096, layout="page_head") for _ in range(2)]
    writer = Engine("split", whole, rank=0, size=1, lcm=2)
    readers = [Engine("split", half[i], rank=i, size=2, lcm=2) for i in range(2)]
    for page in range(4):
        whole.write(page, content(page, 16384))
    check(all(writer.backup(hashes, indices)) and
          all(r.hits(hashes) == 4 and all(r.load(hashes, indices)) for r in readers) and
          all(half[i].read(page) ==
              content(page, 16384)[i * 4096:(i + 1) * 4096] +
              content(page, 16384)[8192 + i * 4096:8192 + (i + 1) * 4096]
              for i in range(2) for page in range(4)),
          "with heads split one rank writes for two smaller ones")

    hashes = chain("x", 2)
    named = Engine("m" * 600, HostPool(2, 4096), extra_backend_tag="tag")
    check(all(named.backup(hashes, tokens_of(range(2)))) and named.hits(hashes) == 2,
          "a model's name may be longer than a key")


def pools():
    """The v2 transfers: side pools."""
    pages, mamba_at = 8, [3, 7]
    hashes, indices = chain("hybrid", pages), tokens_of(range(pages))
    host = HostPool(pages, 4096, 1)
    engine = Engine("hybrid", host, True)
    backend = engine.backend
    index = HostPool(pages, 1056, 1)
    state = StatePool(pages, [4096, 100, 28, 0])
    backend.register_mem_host_pool_v2(host, "kv")
    backend.register_mem_host_pool_v2(index, "indexer")
    backend.register_mem_host_pool_v2(state, "mamba")
    for page in range(pages):
        host.write(page, content(page, 4096))
        index.write(page, content(100 + page, 1056))
        state.write(page, content(200 + page, 4224))

    def transfers(keys=hashes, at=indices, states=mamba_at):
        return [contract.PoolTransfer("indexer", at, keys=keys),
                contract.PoolTransfer("mamba", Indices(states),
                                      keys=[hashes[i] for i in states],
                                      hit_policy="trailing_pages")]

    def ask(last=1):
        state_keys = [hashes[-1]] * last
        return backend.batch_exists_v2(hashes, [
            contract.PoolTransfer("indexer", keys=hashes),
            contract.PoolTransfer("mamba", keys=state_keys,
                                  hit_policy="trailing_pages")])

    engine.backup(hashes, indices)
    none = ask()
    check(none.kv_hit_pages == 0 and backend.batch_exists_v2(hashes).kv_hit_pages
          == pages, "v2: KV pages alone are of no use to a hybrid model")
    done = backend.batch_set_v2(transfers())
    found = ask()
    check(done == {"indexer": [True] * pages, "mamba": [True] * 2} and
          found.kv_hit_pages == 8 and found.restorable_prefix_pages == [4, 8] and
          found.extra_pool_hit_pages == {"kv": 8, "indexer": 8, "mamba": 8} and
          ask(2).kv_hit_pages == 0,
          "v2: the prefixes that end where there is a state can be restored")

    for pool in index.kv_buffer, *state.buffers[:3]:
        pool.fill(0)
    done = backend.batch_get_v2(transfers())
    check(done == {"indexer": [True] * pages, "mamba": [True] * 2} and
          all(index.read(p) == content(100 + p, 1056) for p in range(pages)) and
          all(state.read(p) == content(200 + p, 4224) for p in mamba_at),
          "v2: side pools are loaded, of one piece or of many")
    done = backend.batch_get_v2(transfers(states=[3, 5]))
    check(done["mamba"] == [True, False], "v2: a state that isn't there is a miss")


def flat():
    """Without interface_v1 the engine copies pages."""
    host = HostPool(4, 4096)
    engine = Engine("flat", host, interface_v1=0)
    backend, hashes = engine.backend, chain("flat", 4)
    pages = [Memory(8192) for _ in hashes]
    for i, page in enumerate(pages):
        page[0:8192] = content(i, 8192)
    check(backend.batch_exists(hashes) == 0 and backend.batch_set(hashes[:3], pages[:3])
          and backend.batch_exists(hashes) == 3 and backend.exists(hashes[2]) and
          not backend.exists(hashes[3]), "flat: set and exists")
    dummies = [Memory(8192) for _ in hashes]
    got = backend.batch_get(hashes, dummies)
    check(got == [*dummies[:3], None] and
          all(bytes(got[i][0:8192]) == content(i, 8192) for i in range(3)),
          "flat: get fills the memory that is given, None is a miss")
    one = bytearray(8192)
    check(backend.set(hashes[3], content(3, 8192)) and
          backend.get(hashes[3], one) is one and one == content(3, 8192) and
          backend.get("nothing", one) is None,
          "flat: single keys, and any buffer")
    check(backend.set("at", target_location=pages[0].at, target_sizes=8192) and
          backend.get("at", pages[1].at, 8192) == pages[1].at and
          pages[1][0:8192] == pages[0][0:8192], "flat: addresses")
    check(not backend.set(hashes[0], bytes(100)) and
          backend.get(hashes[0], bytearray(9000)) is None and
          backend.get(hashes[0], bytearray(100)) is None,
          "flat: an object of another size is neither stored nor loaded")


def together():
    """Ranks' threads of several servers on the same pages."""
    pages, half = 24, 65536
    hashes = chain("together", pages)
    data = [content(page, 2 * half) for page in range(pages)]
    bad, hits, errors = [], [0], []
    stop = threading.Event()

    def write(first):
        host = HostPool(pages, half)
        engine = Engine("together", host)
        for page in range(pages):
            host.write(page, data[page])
        for start in range(0, pages, 4):
            part = [(first + start + i) % pages for i in range(4)]
            engine.backup([hashes[p] for p in part], tokens_of(part))

    def read():
        host = HostPool(pages, half)
        engine = Engine("together", host)
        while True:
            last = stop.is_set()
            found = engine.hits(hashes)
            done = engine.load(hashes, tokens_of(range(pages)))
            bad.extend(p for p in range(pages) if done[p] and host.read(p) != data[p])
            bad.extend(p for p in range(found) if not done[p])
            hits[0] = max(hits[0], sum(done))
            if last:
                return

    def run(function, *arguments):
        try:
            function(*arguments)
        except BaseException as error:  # pylint: disable=broad-except
            errors.append(error)

    writers = [threading.Thread(target=run, args=(write, 8 * i)) for i in range(3)]
    readers = [threading.Thread(target=run, args=(read,)) for _ in range(2)]
    for thread in writers + readers:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in readers:
        thread.join()
    check(not errors and not bad and hits[0] == pages,
          f"three writers and two readers at once: every hit is right {errors}")


def everything_misses(engine, hashes, indices):
    backend, pages = engine.backend, len(hashes)
    transfer = [contract.PoolTransfer("kv", indices, keys=hashes)]
    return (engine.hits(hashes) == 0 and
            engine.load(hashes, indices) == [False] * pages and
            engine.backup(hashes, indices) == [False] * pages and
            backend.batch_get_v2(transfer) == {"kv": [False] * pages} and
            backend.batch_exists_v2(hashes, transfer).kv_hit_pages == 0 and
            not backend.exists(hashes[0]) and
            backend.get(hashes[0], bytearray(10)) is None and
            not backend.set(hashes[0], bytes(10)) and not backend.clear())


def detached():
    hashes, indices = chain("detached", 4), tokens_of(range(4))
    host = HostPool(4, 16384)
    engine = Engine("detached", host)
    for page in range(4):
        host.write(page, content(page, 32768))
    engine.backup(hashes, indices)
    ctl("detach", "1")
    check(everything_misses(engine, hashes, indices),
          "with the pool detached all is a miss, nothing an exception")
    ctl("attach", "-q", *MEMBERS)
    host.kv_buffer.fill(0)
    check(engine.hits(hashes) == 4 and all(engine.load(hashes, indices)) and
          all(host.read(page) == content(page, 32768) for page in range(4)),
          "attached again, the same backend finds and loads the pages")
    engine.backend.close()
    check(everything_misses(engine, hashes, indices), "after close all is a miss")


def too_small():
    """More than the pool can hold, and pages that it can't hold at all."""
    pages, half = 64, 1310720
    hashes = chain("small", pages)
    host = HostPool(8, half)
    engine = Engine("small", host)
    stored = 0
    for start in range(0, pages, 8):
        for i in range(8):
            host.write(i, content(start + i, 2 * half))
        stored += sum(engine.backup(hashes[start:start + 8], tokens_of(range(8))))
    right = wrong = 0
    for start in range(0, pages, 8):
        done = engine.load(hashes[start:start + 8], tokens_of(range(8)))
        for i in range(8):
            same = host.read(i) == content(start + i, 2 * half)
            right += done[i] and same
            wrong += done[i] and not same
    check(wrong == 0 and 0 < right < pages,
          f"a pool that is too small: of {pages} pages {stored} are stored, "
          f"{right} found, none wrong")
    large = HostPool(2, 20 << 20, 1)
    engine = Engine("large", large, True)
    hashes, indices = chain("large", 2), tokens_of(range(2))
    check(engine.backup(hashes, indices) == [False] * 2 and engine.hits(hashes) == 0,
          "a page larger than the pool's largest object is not stored")


def main():
    make_pool("small", MEMBERS[:1], "--segment-size", "8M", "--width", "1")
    too_small()
    ctl("detach", "1")
    make_pool("sglang", MEMBERS, "--segment-size", "16M", "--width", "4")
    raw = Pool()
    sizes(raw)
    ranks()
    pools()
    flat()
    together()
    detached()
    example("/repo/userspace/sglang/example.py", "put", "get")
    ctl("detach", "1")
    return engines.failed != 0


if __name__ == "__main__":
    sys.exit(main())
