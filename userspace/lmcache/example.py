#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What LMCache does with the connector, in small: no LMCache and no GPU needed.

    example.py store    a server stores the chunks of a prompt
    example.py load     another one, perhaps on another host, looks up and loads

Ends with status 1 if a chunk is wrong, 2 if not all are stored or found. Needs a
pool that is attached. Documentation/engines.rst has it run in the lab.
"""

import argparse
import hashlib
import select
import time

from kvcache_lmcache import Connector


def wait(connector, number):
    """Until the operation is done: its results."""
    poll = select.poll()
    poll.register(connector.event_fd(), select.POLLIN)
    while True:
        poll.poll()
        for done, ok, error, results in connector.drain_completions():
            if done == number:
                if not ok:
                    print(error)
                return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("role", choices=("store", "load"))
    parser.add_argument("--chunks", type=int, default=4)
    parser.add_argument("--bytes", type=int, default=10485760,
                        help="of a chunk (256 tokens of Llama-3-70B, TP 8)")
    parser.add_argument("--pool", type=int, default=0)
    args = parser.parse_args()

    connector = Connector(pool=args.pool)
    hashes = [hashlib.sha256(b"chunk %d" % i).digest() for i in range(args.chunks)]
    keys = [f"meta-llama/Llama-3-70B@00000800@0@{h.hex()}" for h in hashes]
    # Stands for the KV cache of a chunk: what depends on its tokens.
    chunks = [bytearray((h * (args.bytes // len(h) + 1))[:args.bytes]) for h in hashes]

    if args.role == "store":
        start = time.monotonic()
        done = wait(connector,
                    connector.submit_batch_set(keys, list(map(memoryview, chunks))))
        wrong = 0
    else:
        found = wait(connector, connector.submit_batch_exists(keys))
        print(f"of {args.chunks} chunks {sum(found)} are in the pool")
        memory = [bytearray(args.bytes) for _ in keys]
        start = time.monotonic()
        done = wait(connector,
                    connector.submit_batch_get(keys, list(map(memoryview, memory))))
        wrong = sum(ok and got != chunk
                    for ok, got, chunk in zip(done, memory, chunks))
    total = args.chunks * args.bytes >> 20
    print(f"{args.role}: {sum(done)} of {args.chunks} chunks, {total} MiB in "
          f"{time.monotonic() - start:.2f} s, {wrong} wrong")
    connector.close()
    return 1 if wrong else 2 if not all(done) else 0


if __name__ == "__main__":
    raise SystemExit(main())
