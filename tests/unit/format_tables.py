#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the tables of Documentation/format.rst tell the structures as
kmod/kvc_format.h has them? Every row becomes a static assertion, and the rows
of a structure follow each other without gaps."""

import os
import re
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def tables(text):
    name = None
    for line in text.split("\n"):
        start = re.match(r"``struct (\w+)``, (\d+) bytes:$", line)
        row = re.match(r"(\d+) +(\d+) +``(\w+)`` ", line)
        if start:
            name, rows = start.group(1), []
            yield name, int(start.group(2)), rows
        elif row and name:
            rows.append((int(row.group(1)), int(row.group(2)), row.group(3)))


def main():
    with open(os.path.join(TOP, "Documentation", "format.rst")) as f:
        found = list(tables(f.read()))
    with open(os.path.join(TOP, "kmod", "kvc_format.h")) as f:
        wanted = set(re.findall(r"^struct (\w+) \{", f.read(), re.M))
    bad = 0
    source = '#include "kvc_format.h"\n'
    for name, size, rows in found:
        end = 0
        for offset, length, field in rows:
            if offset != end:
                print(f"struct {name}: gap or overlap before {field}")
                bad = 1
            end = offset + length
            at = f"struct {name}, {field}"
            source += (f"static_assert(offsetof({at}) == {offset});\n"
                       f"static_assert(sizeof(((struct {name} *)0)->{field})"
                       f" == {length});\n")
        if end != size:
            print(f"struct {name}: rows end at {end}, not at {size}")
            bad = 1
        source += f"static_assert(sizeof(struct {name}) == {size});\n"
    for name in wanted - {name for name, _, _ in found}:
        print(f"struct {name} has no table")
        bad = 1
    done = subprocess.run(
        ["cc", "-std=gnu11", "-fsyntax-only", "-x", "c", "-",
         "-I" + os.path.join(TOP, "kmod"),
         "-I" + os.path.join(TOP, "userspace", "compat")],
        input=source, text=True)
    return bad or done.returncode


if __name__ == "__main__":
    sys.exit(main())
