# SPDX-License-Identifier: GPL-2.0
"""What the tests of the engines' connectors share."""

import ctypes
import mmap
import os
import random
import struct
import subprocess
import sys

from kvcache import address

MEMBERS = os.environ["KVC_MEMBERS"].split()
failed = 0


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
        status = subprocess.run([sys.executable, program, role], check=False)
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
