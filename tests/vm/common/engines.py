# SPDX-License-Identifier: GPL-2.0
"""What the tests of the engines' connectors share."""

import ctypes
import errno
import mmap
import os
import random
import struct
import subprocess
import sys
import time

import kvcache
from kvcache import address

MEMBERS = os.environ["KVC_MEMBERS"].split()
AGAIN = 30  # seconds
failed = 0
_batch = kvcache.Pool._batch


def _batch_again(self, function, call, keys, memory=(), depth=()):
    """On a busy machine a member may look ill for a moment: ask such keys again."""
    results = _batch(self, function, call, keys, memory, depth)
    end = time.monotonic() + AGAIN
    while time.monotonic() < end:
        late = [i for i, result in enumerate(results) if result.error == errno.EAGAIN]
        if not late:
            break
        time.sleep(0.1)
        some = _batch(self, function, call, *([of[i] for i in late] if of else of
                                              for of in (keys, memory, depth)))
        for i, result in zip(late, some):
            results[i] = result
    return results


kvcache.Pool._batch = _batch_again


def check(good, text):
    """A result: one line."""
    global failed
    print(("ok - " if good else "not ok - ") + text, flush=True)
    failed += not good
    return good


def ctl(*arguments):
    """kvcachectl; raises if it fails."""
    subprocess.run(["kvcachectl", *arguments], check=True,
                   stdout=subprocess.DEVNULL)


def make_pool(name, members, *options):
    ctl("format", "-q", "--force", "--name", name, "--lease", "20s", "--q", "0",
        *options, *members)
    ctl("attach", "-q", *members)


def example(program, *roles):
    """The worked example of a connector, each role in a process of its own."""
    for role in roles:
        for _ in range(AGAIN):
            # 2: not all was stored or found, as _batch_again() has it.
            status = subprocess.run([sys.executable, program, role], check=False)
            if status.returncode != 2:
                break
            time.sleep(1)
        check(status.returncode == 0, f"the example runs: {role}")


class Memory:
    """Anonymous pages, as engines have pinned ones."""

    def __init__(self, size):
        self.map = mmap.mmap(-1, size)
        self.view = memoryview(self.map)
        self.at, self.size = address(self.map)

    def __getitem__(self, where):
        return self.view[where]

    def __setitem__(self, where, data):
        self.view[where] = data

    def fill(self, byte):
        ctypes.memset(self.at, byte, self.size)

    # As a tensor.
    def data_ptr(self):
        return self.at

    def numel(self):
        return self.size

    def element_size(self):
        return 1

    def is_contiguous(self):
        return True

    def contiguous(self):
        return self


_noise = random.Random(1).randbytes(1 << 20)


def content(seed, size):
    """Bytes that differ between seeds and between places."""
    data = bytearray()
    for block in range(-(-size // len(_noise))):
        shift = (seed * 7919 + block * 104729) % len(_noise)
        data += struct.pack("=QQ", seed, block) + _noise[shift + 16:] + _noise[:shift]
        data += bytes((block + 1) * len(_noise) - len(data))
    return bytes(data[:size])
