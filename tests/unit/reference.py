#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second implementation of the media format, written from
Documentation/format.rst and sharing nothing with kmod/kvc_codec.c.

It makes the blocks that test_golden.c makes with the codec, so that neither
the codec nor the text can drift unnoticed.

    reference.py --check     do golden/*.hex hold exactly these blocks?
    reference.py --write     make golden/*.hex (a change of the format)
    reference.py --seeds DIR make the seed corpus of the fuzzers
    reference.py --vectors   print the test vectors that format.rst quotes
"""

import os
import struct
import sys

MASK = (1 << 64) - 1
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")


# --- CRC32C and siphash ---

def crc32c(crc, data):
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc


def siphash(c, d, key, data):
    """siphash-c-d with a result of 128 bits: low half, high half."""

    def rotate(x, by):
        return (x << by | x >> (64 - by)) & MASK

    def rounds(n):
        nonlocal v0, v1, v2, v3
        for _ in range(n):
            v0 = (v0 + v1) & MASK
            v1 = rotate(v1, 13) ^ v0
            v0 = rotate(v0, 32)
            v2 = (v2 + v3) & MASK
            v3 = rotate(v3, 16) ^ v2
            v0 = (v0 + v3) & MASK
            v3 = rotate(v3, 21) ^ v0
            v2 = (v2 + v1) & MASK
            v1 = rotate(v1, 17) ^ v2
            v2 = rotate(v2, 32)

    k0, k1 = struct.unpack("<QQ", key)
    v0, v1 = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE
    v2, v3 = k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573
    tail = len(data) % 8
    padded = data + bytes(7 - tail) + bytes([len(data) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", padded):
        v3 ^= word
        rounds(c)
        v0 ^= word
    v2 ^= 0xEE
    rounds(d)
    low = v0 ^ v1 ^ v2 ^ v3
    v1 ^= 0xDD
    rounds(d)
    return low, v0 ^ v1 ^ v2 ^ v3


def key_hash(hash_key, tenant, key):
    return siphash(1, 3, hash_key[:16], key + struct.pack("<I", tenant))


# --- blocks ---

LABEL, SLOT, AREA, JOURNAL, SUMMARY = range(1, 6)


def block(uuid, kind, place, sequence, writer, body):
    member, number = place
    slot, incarnation = writer
    address = member << 48 | number
    body = body.ljust(4096 - 64, b"\0")
    assert len(body) == 4096 - 64

    def header(crc):
        return struct.pack("<8sIBBH16sQQQII", b"KVCACHE1", crc, kind, 1, 0,
                           uuid, address, sequence, incarnation, slot, 0)

    return header(crc32c(0xFFFFFFFF, header(0) + body)) + body


class Pool:
    """The pool of kvc_fixture_options(): four members of 64 MiB."""

    name, uuid = b"pool", bytes(range(0xA0, 0xB0))
    hash_key, created = bytes(range(32)), 1767225600
    members = [(bytes([0x10] * 15 + [i]), 16384, 0x1111111111111111 * (i + 1))
               for i in range(4)]
    slot_start, nr_slots, slot_blocks, copies = 1, 64, 1, 3
    journal_start, ring, journals = 65, 32, 4
    data_start, lanes = 768, 121
    segment_shift, unit_shift, width = 20, 18, 2
    ags, segments = 16, 240
    spans = [(0, 16, 0, 240, 0, 4, 2, 0, 0, 0)]

    def label_place(self, member, copy):
        return member, self.members[member][1] - 1 if copy else 0

    def slot_place(self, slot, copy, part):
        return copy, self.slot_start + slot * self.slot_blocks + part

    def area_place(self, ag, epoch):
        nr = len(self.members)
        return ag % nr, (self.journal_start +
                         (ag // nr * 4 + epoch % 4) * (2 + self.ring))

    def journal_place(self, ag, epoch, position):
        member, number = self.area_place(ag, epoch)
        return member, number + 2 + position % self.ring

    def data_place(self, segment, offset):
        unit, within = divmod(offset >> 12, 1 << (self.unit_shift - 12))
        row, lane = divmod(unit, self.width)
        slot, member = divmod(segment * self.width + lane, len(self.members))
        lane_blocks = (1 << (self.segment_shift - 12)) // self.width
        return member, (self.data_start + slot * lane_blocks +
                        (row << (self.unit_shift - 12)) + within)

    def label(self, member, copy, sequence, writer):
        body = struct.pack(
            "<3Q64s32sQIIII4H4BIQQIIQII", 0, 0, 0, self.name, self.hash_key,
            self.created, 0, 5000, 1000, 60000, member, len(self.members),
            len(self.spans), self.nr_slots, self.copies, self.slot_blocks,
            self.segment_shift, self.unit_shift, 0, self.slot_start,
            self.journal_start, self.ring, self.journals, self.data_start,
            self.lanes, 0)
        for span in self.spans:
            body += struct.pack("<4I4HII", *span)
        body = body.ljust(520 - 64, b"\0")
        for uuid, blocks, wwid in self.members:
            body += struct.pack("<16sQQIIQ", uuid, blocks, wwid, 1, 0, 0)
        return block(self.uuid, LABEL, self.label_place(member, copy),
                     sequence, writer, body)

    def slot(self, number, sequence, writer):
        body = struct.pack("<4IQQ16s16s224s64s", number, 0, self.ags, 2,
                           writer[1], 1234, b"\xb0" * 16, b"\xa7" * 16,
                           b"nqn.2014-08.org.nvmexpress:uuid:1", b"gpu-17")
        for ag in range(self.ags):
            body += struct.pack("<3Q", ag, 2 * ag, 1000 * ag)
        return block(self.uuid, SLOT, self.slot_place(number, 0, 0),
                     sequence, writer, body)

    def area(self, ag, epoch, head, checkpoint, sequence, writer):
        body = struct.pack("<IIQQQQ", ag, *writer, epoch, head, checkpoint)
        return block(self.uuid, AREA, self.area_place(ag, epoch), sequence,
                     writer, body)

    def journal(self, ag, epoch, position, writer, records):
        data = b"".join(records)
        body = struct.pack("<IHHQQ", ag, len(records), len(data), epoch, 0)
        return block(self.uuid, JOURNAL,
                     self.journal_place(ag, epoch, position), position,
                     writer, body + data)

    def summary(self, ag, segment, generation, place, part, parts, writer,
                records):
        data = b"".join(records)
        body = struct.pack("<IHHIIQ", ag, len(records), len(data), segment,
                           parts, generation)
        return block(self.uuid, SUMMARY, place, part, writer, body + data)


class Grown(Pool):
    """The pool of kvc_fixture_two_spans()."""

    name, uuid = b"grown", b"\x22" * 16
    hash_key, created = bytes(32), 0
    members = [(bytes([0x30 + i] * 16), 16384, 0) for i in range(5)]
    nr_slots, journal_start, journals, lanes = 3, 4, 4, 124
    spans = [(0, 4, 0, 48, 0, 3, 1, 0, 0, 0),
             (4, 5, 48, 60, 1, 4, 4, 0, 64, 2)]


# --- records ---

def record(kind, flags, segment, body):
    assert len(body) % 8 == 0
    return struct.pack("<BBHI", kind, flags, 8 + len(body), segment) + body


def put(pool, segment, generation, offset, data, tenant, key, expiry=0, pin=0,
        depth=0, old=None):
    low, high = key_hash(pool.hash_key, tenant, key)
    old_segment, old_generation, old_offset = old or (0, 0, 0)
    body = struct.pack("<QQQIIIIQQHHIQII", low, high, generation, offset,
                       len(data), crc32c(low & 0xFFFFFFFF, data), tenant,
                       expiry, pin, len(key), depth, old_segment,
                       old_generation, old_offset, 0)
    body += key + bytes(-len(key) % 8)
    return record(1, 1 if old else 0, segment, body)


def delete(pool, segment, generation, offset, tenant, key):
    return record(2, 0, segment, struct.pack(
        "<QQQII", *key_hash(pool.hash_key, tenant, key), generation, offset,
        tenant))


def segment(kind, state, number, generation, order=0, summary=(0, 0, 0, 0, 0)):
    return record(kind, state, number,
                  struct.pack("<QQ5II", generation, order, *summary, 0))


def checkpoint(part, parts, start, next_order):
    return record(7, 0, part, struct.pack("<IIQQ", parts, 0, start,
                                          next_order))


def ask(pool, kind, tenant, key, ag, count):
    return record(8, kind, 0xFFFFFFFF, struct.pack(
        "<QQIIII", *key_hash(pool.hash_key, tenant, key), tenant, ag, count,
        0))


def records(pool):
    """One of each, of AG 6, which has segments 90 to 104."""
    return {
        "checkpoint": checkpoint(1, 2, 4710, 12),
        "segment-sealed": segment(6, 2, 90, 0x500000001, 11,
                                  (90, 255, 1, 0x89ABCDEF, 2)),
        "segment-retired": segment(6, 3, 91, 0x500000000, 4700),
        "put": put(pool, 92, 0x500000002, 17, b"world", 7, b"hello",
                   expiry=1800000000, pin=1790000000, depth=3),
        "put-moved": put(pool, 92, 0x500000002, 18, b"w" * 5000, 7,
                         b"long key".ljust(64, b"."),
                         old=(90, 0x500000001, 3)),
        "delete": delete(pool, 90, 0x500000001, 3, 7, b"bye"),
        "open": segment(3, 1, 93, 0x500000007),
        "seal": segment(4, 2, 92, 0x500000002, 12,
                        (92, 254, 2, 0x01234567, 41)),
        "retire": segment(5, 3, 90, 0x500000001, 4711),
        "ask-delete": ask(pool, 1, 7, b"bye", 3, 0),
        "ask-touch": ask(pool, 2, 7, b"hello", 15, 1000),
    }


def golden():
    pool, writer = Pool(), (5, 77)
    recs = records(pool)
    last = pool.data_place(92, 254 << 12)
    return {
        "label": pool.label(2, 1, 3, writer),
        "slot": pool.slot(5, 9, writer),
        "area": pool.area(15, 0xFFFFFFFF, 1000, 1010, 6, writer),
        "journal": pool.journal(6, 12, 4711, writer, list(recs.values())),
        "summary": pool.summary(6, 92, 0x500000002, last, 0, 2, writer,
                                [recs["put"], recs["put-moved"]]),
    }


# --- files ---

def to_hex(data):
    """Rows of 32 bytes with their offset, without rows of zeroes."""
    return "".join(f"{at:03x} {data[at:at + 32].hex()}\n"
                   for at in range(0, len(data), 32)
                   if any(data[at:at + 32]))


def write_seeds(directory):
    def save(target, name, data):
        os.makedirs(os.path.join(directory, target), exist_ok=True)
        with open(os.path.join(directory, target, name), "wb") as f:
            f.write(data)

    # A control byte comes first, see tests/fuzz/fuzz.h: 1 has the harness
    # make the header; what a block or a record ends in may be left out.
    for name, data in golden().items():
        save(name, name, b"\1" + data.rstrip(b"\0"))
    grown = Grown().label(4, 0, 1, (0xFFFFFFFF, 0))
    save("label", "grown", b"\1" + grown.rstrip(b"\0"))
    for name, data in records(Pool()).items():
        save("record", name, b"\1" + data)


def print_vectors():
    pool = Pool()
    low, high = key_hash(pool.hash_key, 7, b"hello")
    print(f"hash of tenant 7, key 'hello': {low:016x} {high:016x}")
    print(f"data CRC of 'world' under it: "
          f"{crc32c(low & 0xFFFFFFFF, b'world'):08x}")
    print("member, block of segment 7, offset 0x81000:",
          pool.data_place(7, 0x81000))
    for name, data in golden().items():
        print(f"{name}: CRC {data[8:12].hex()} "
              f"({struct.unpack_from('<I', data, 8)[0]:08x})")
    for name, data in records(pool).items():
        print(f"{name} ({len(data)}): {data.hex()}")


def main(arguments):
    if arguments == ["--vectors"]:
        print_vectors()
    elif arguments == ["--write"]:
        for name, data in golden().items():
            with open(os.path.join(GOLDEN, name + ".hex"), "w") as f:
                f.write(to_hex(data))
    elif arguments == ["--check"]:
        bad = 0
        for name, data in golden().items():
            with open(os.path.join(GOLDEN, name + ".hex")) as f:
                if f.read() != to_hex(data):
                    print(f"reference.py: {name}.hex is another block")
                    bad = 1
        return bad
    elif len(arguments) == 2 and arguments[0] == "--seeds":
        write_seeds(arguments[1])
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
