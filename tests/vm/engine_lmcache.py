#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The LMCache connector, called in the ways that LMCache's adapters call it."""

import asyncio
import ctypes
import hashlib
import importlib
import json
import os
import re
import select
import sys
import threading

sys.path.append(os.path.join(os.path.dirname(__file__), "common"))

from engines import (MEMBERS, Memory, check, content, ctl,  # noqa: E402
                     example, make_pool)
import engines  # noqa: E402
from kvcache import Pool  # noqa: E402

DOCS = "/repo/Documentation/engines.rst"


def plugin():
    """The line that the guide tells people to pass."""
    with open(DOCS, encoding="utf-8") as guide:
        return json.loads(re.search(r"--l2-adapter\s+'(\{.*?\})'\n",
                                    guide.read(), re.S).group(1))


def connector(**more):
    """As LMCache's factory makes it, checks included."""
    config = plugin()
    module = importlib.import_module(config["module_path"])
    made = getattr(module, config["class_name"])(
        **dict(config.get("adapter_params", {}), **more))
    for method in ("event_fd", "submit_batch_get", "submit_batch_set",
                   "submit_batch_exists", "submit_batch_delete",
                   "drain_completions", "close"):
        if not callable(getattr(made, method, None)):
            raise TypeError(f"no {method}")
    return made


class Adapter:
    """A thread that waits for the event fd and hands completions out."""

    def __init__(self, **more):
        self.client = connector(**more)
        self.lock = threading.Lock()
        self.pending = {}
        self.stray = []
        self.stop = False
        self.thread = threading.Thread(target=self._demux)
        self.thread.start()

    def _demux(self):
        poll = select.poll()
        poll.register(self.client.event_fd(), select.POLLIN)
        while not self.stop:
            if not poll.poll(100):
                continue
            completions = self.client.drain_completions()
            with self.lock:
                for number, ok, error, results in completions:
                    waiter = self.pending.pop(number, None)
                    if not waiter:
                        self.stray.append(number)
                        continue
                    waiter.append((ok, error, results))
                    waiter[0].set()

    def submit(self, what, *arguments):
        waiter = [threading.Event()]
        with self.lock:
            number = int(getattr(self.client, f"submit_batch_{what}")(*arguments))
            self.pending[number] = waiter
        return waiter

    @staticmethod
    def wait(waiter):
        return waiter[1] if waiter[0].wait(120) else (False, "no completion", None)

    def call(self, what, *arguments):
        return self.wait(self.submit(what, *arguments))

    def found(self, what, *arguments):
        """The results of what can't fail."""
        ok, error, results = self.call(what, *arguments)
        return results if ok and not error else None

    def close(self):
        self.stop = True
        self.thread.join()
        self.client.close()


def names(label, count):
    """model@rank@group@chunk hash, some with a salt."""
    return [f"vendor/{label}@00000800@0@"
            f"{hashlib.sha256(f'{label}{i}'.encode()).hexdigest()}"
            + ("@salt" if i % 2 else "") for i in range(count)]


def views_of(memory, size, count):
    """As LMCache has them: byte arrays laid over a pool of memory."""
    kind = ctypes.c_ubyte * size
    return [memoryview(kind.from_address(memory.at + i * size)) for i in range(count)]


def one_size(adapter, label, count, size):
    text = f"{label}: {count} objects of {size} bytes"
    keys = names(label, count)
    source, target = Memory(count * size), Memory(count * size)
    put, got = views_of(source, size, count), views_of(target, size, count)
    for i in range(count):
        source[i * size:(i + 1) * size] = content(len(label) * 1000 + i, size)

    # Byte by byte is how views are compared, so compare copies.
    target.fill(0xa5)
    check(adapter.found("exists", keys) == [False] * count and
          adapter.found("get", keys, got) == [False] * count and
          bytes(got[0]) == b"\xa5" * size and
          adapter.found("delete", keys) == [False] * count,
          f"{text}: nothing is found at first")
    check(adapter.call("set", keys, put) == (True, "", [True] * count) and
          adapter.call("set", keys, put) == (True, "", [True] * count) and
          adapter.found("exists", keys) == [True] * count,
          f"{text}: stored, a second store is none, all are found")
    check(adapter.found("get", keys[::-1], got) == [True] * count and
          all(bytes(got[i]) == bytes(put[count - 1 - i]) for i in range(count)),
          f"{text}: every byte is loaded")

    gone = [i % 3 == 1 for i in range(count)]
    lost = [key for key, lose in zip(keys, gone) if lose]
    target.fill(0)
    check(adapter.found("delete", lost + ["vendor/none@0@0@00"])
          == [True] * len(lost) + [False] and
          adapter.found("exists", keys) == [not lose for lose in gone] and
          adapter.found("get", keys, got) == [not lose for lose in gone] and
          all(bytes(got[i]) == bytes(put[i]) for i in range(count) if not gone[i]),
          f"{text}: what was deleted is missed, the rest loaded")


def sizes(adapter):
    one_size(adapter, "Llama-3-8B", 2, 33554432 + 28)
    one_size(adapter, "DeepSeek-V3", 2, 17989632)
    one_size(adapter, "Llama-3-70B", 4, 10485760)
    one_size(adapter, "vLLM-block", 16, 655360)
    one_size(adapter, "small", 128, 70272 + 28)
    one_size(adapter, "tiny", 700, 1)


def strange(adapter):
    client = adapter.client

    def refused(function, *arguments):
        try:
            function(*arguments)
        except RuntimeError:
            return True
        return False

    view = memoryview(bytearray(10))
    check(refused(client.submit_batch_get, [], []) and
          refused(client.submit_batch_set, ["a"], []) and
          refused(client.submit_batch_exists, []) and
          refused(client.submit_batch_delete, []) and
          refused(client.submit_batch_get, ["a", "b"], [view]),
          "no keys, or not a buffer for each, is refused at once")
    keys = names("strange", 3)
    data = [bytes([i]) * 5000 for i in range(3)]
    check(adapter.call("set", keys, [memoryview(d) for d in data])[0],
          "memory that can only be read is stored")
    got = [bytearray(n) for n in (5000, 4999, 5001)]
    check(adapter.found("get", keys, [memoryview(g) for g in got])
          == [True, False, False] and got[0] == data[0],
          "memory of another size than the object's is a miss")
    ok, error, results = adapter.call("set", keys,
                                      [memoryview(bytes(n)) for n in (5000, 1, 5000)])
    check(not ok and keys[1] in error and results == [True, False, True],
          "an object that is there with another size fails to be stored")
    ok, error, results = adapter.call("set", ["k" * 513, "k" * 512],
                                      [memoryview(b"x")] * 2)
    check(not ok and results == [False, True] and
          adapter.found("exists", ["k" * 513, "k" * 512]) == [False, True],
          "keys of 512 bytes are stored, longer ones fail")
    other = Adapter(namespace="other/")
    check(other.found("exists", keys) == [False] * 3 and
          other.call("set", keys[:1], [memoryview(b"other")])[0] and
          adapter.found("get", keys[:1], [memoryview(got[0])]) == [True] and
          got[0] == data[0], "namespaces do not meet")
    other.close()


def many(adapter):
    """Operations under way at the same time: each completes once."""
    count, size = 16, 20000
    lists = [names(f"many{i}", count) for i in range(12)]
    data = [[content(i * 100 + j, size) for j in range(count)] for i in range(12)]
    waiters = [adapter.submit("set", lists[i], [memoryview(d) for d in data[i]])
               for i in range(12)]
    stored = all(adapter.wait(waiter)[0] for waiter in waiters)
    got = [[bytearray(size) for _ in range(count)] for _ in range(12)]
    waiters = []
    for i in range(12):
        waiters.append(adapter.submit("get", lists[i], list(map(memoryview, got[i]))))
        waiters.append(adapter.submit("exists", lists[i]))
    loaded = all(adapter.wait(waiter) == (True, "", [True] * count)
                 for waiter in waiters)
    check(stored and loaded and got == data and not adapter.stray and
          not adapter.pending and all(len(waiter) == 2 for waiter in waiters),
          "many operations at once: each completes once, every byte is right")

    bad, threads = [], []

    def work(seed):
        for i in range(6):
            keys = names(f"work{(seed + i) % 4}", 8)
            mine = [content((seed + i) % 4 * 10 + j, size) for j in range(8)]
            bufs = [bytearray(size) for _ in keys]
            adapter.call("set", keys, [memoryview(m) for m in mine])
            done = adapter.found("get", keys, [memoryview(b) for b in bufs])
            if done is None:
                bad.append("failed")
                continue
            bad.extend(j for j in range(8) if done[j] and bufs[j] != mine[j])
            adapter.found("delete", keys[i % 8:i % 8 + 1])

    for seed in range(4):
        threads.append(threading.Thread(target=work, args=(seed,)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    check(not bad, "four threads that store, load and delete: no wrong byte")


def event():
    """The event fd, seen from nearby; an asyncio loop; closing."""
    client = connector(num_workers=2)
    poll = select.poll()
    poll.register(client.event_fd(), select.POLLIN)
    quiet = not poll.poll(0) and client.drain_completions() == []
    numbers = {client.submit_batch_exists(["a", "b", "c"]) for _ in range(3)}
    done = []
    while len(done) < 3 and poll.poll(10000):
        done += client.drain_completions()
    check(quiet and {d[0] for d in done} == numbers and len(numbers) == 3 and
          not poll.poll(0) and client.drain_completions() == [],
          "the event fd is readable while there are completions, and only then")

    async def run():
        loop = asyncio.get_running_loop()
        pending = {}

        def ready():
            while completions := client.drain_completions():
                for number, ok, _, results in completions:
                    pending.pop(number).set_result(ok and results)

        def submit(number):
            pending[number] = loop.create_future()
            return pending[number]

        loop.add_reader(client.event_fd(), ready)
        keys, got = names("loop", 5), [bytearray(300) for _ in range(5)]
        data = [memoryview(bytes([i]) * 300) for i in range(5)]
        stored = await submit(client.submit_batch_set(keys, data))
        both = await asyncio.gather(
            submit(client.submit_batch_exists(keys)),
            submit(client.submit_batch_get(keys, list(map(memoryview, got)))))
        loop.remove_reader(client.event_fd())
        return (stored == [True] * 5 and both == [[True] * 5] * 2 and
                [bytes(g) for g in got] == [bytes(d) for d in data])

    check(asyncio.run(run()), "an asyncio loop can wait for it")

    keys = names("closing", 64)
    client.submit_batch_set(keys, [memoryview(bytes(100000))] * 64)
    client.close()
    client.close()
    try:
        client.submit_batch_exists(keys)
        refused = False
    except RuntimeError:
        refused = True
    stored = [not result.error for result in
              Pool().exists([key.encode() for key in keys])]
    check(all(stored) and refused and client.drain_completions() == [],
          "close waits for what is under way, and is final")


def detached(adapter):
    keys = names("detached", 3)
    data = [content(i, 30000) for i in range(3)]
    adapter.call("set", keys, [memoryview(d) for d in data])
    ctl("detach", "1")
    got = [bytearray(30000) for _ in keys]
    ok, error, results = adapter.call("set", keys, [memoryview(d) for d in data])
    check(adapter.found("exists", keys) == [False] * 3 and
          adapter.found("get", keys, list(map(memoryview, got))) == [False] * 3 and
          adapter.found("delete", keys) == [False] * 3 and
          not ok and error and results == [False] * 3,
          "with the pool detached all is a miss, and a store fails")
    ctl("attach", "-q", *MEMBERS)
    check(adapter.found("exists", keys) == [True] * 3 and
          adapter.found("get", keys, list(map(memoryview, got))) == [True] * 3 and
          got == data, "attached again, the same connector finds and loads")


def too_small(adapter):
    size, count = 1310720, 240
    keys = names("small pool", count)
    got, stored = bytearray(size), 0
    for i in range(0, count, 16):
        data = [memoryview(content(j, size)) for j in range(i, i + 16)]
        stored += sum(adapter.call("set", keys[i:i + 16], data)[2])
    right = wrong = 0
    for i, key in enumerate(keys):
        if adapter.found("get", [key], [memoryview(got)]) == [True]:
            same = got == content(i, size)
            right += same
            wrong += not same
    check(wrong == 0 and 0 < right < count,
          f"a pool that is too small: of {count} objects {stored} are stored, "
          f"{right} found, none wrong")
    ok, error, results = adapter.call(
        "set", ["large", "fits"], [memoryview(bytes(8 << 20)), memoryview(b"fits")])
    check(not ok and "large" in error and results == [False, True] and
          adapter.found("exists", ["large", "fits"]) == [False, True],
          "an object larger than the pool's largest fails, others are stored")


def main():
    make_pool("small", MEMBERS[:1], "--segment-size", "4M", "--width", "1")
    adapter = Adapter()
    too_small(adapter)
    ctl("detach", "1")
    make_pool("lmcache", MEMBERS, "--segment-size", "128M", "--width", "4",
              "--ags", "1")
    sizes(adapter)
    strange(adapter)
    many(adapter)
    event()
    detached(adapter)
    adapter.close()
    example("/repo/userspace/lmcache/example.py", "store", "load")
    ctl("detach", "1")
    return engines.failed != 0


if __name__ == "__main__":
    sys.exit(main())
