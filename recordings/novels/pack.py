"""Pack Jane Austen's six novels, out of Debian's package r-cran-janeaustenr 1.0.0, into two files of the package:

    apt-get download r-cran-janeaustenr && dpkg -x r-cran-janeaustenr_*.deb novels-of-debian
    .venv/bin/python -m recordings.novels.pack novels-of-debian/usr/lib/R/site-library/janeaustenr/data/Rdata.rdb

The file is a database of R: six packed entries, each a serialised vector of lines.
"""

import hashlib
import lzma
import re
import struct
import sys
import zlib
from pathlib import Path

from attn_course.novels import FOLDER

SHA256 = "8fb5198960d0da724b1562f96e4221e5c1b41ff455000280b02c55980c3d8f21"
HELD_OUT = {  # paragraphs at the end of each novel, about 4 in 100
    "EMMA": 93,
    "MANSFIELD PARK": 72,
    "NORTHANGER ABBEY": 39,
    "Persuasion": 41,
    "PRIDE AND PREJUDICE": 83,
    "SENSE AND SENSIBILITY": 73,
}
HEADING = re.compile(r"(CHAPTER|Chapter|VOLUME) .{1,8}|FINIS|Finis|THE END")
NOTE = "A NOTE ON THE TEXT"  # a later editor's, after Northanger Abbey


def entries(database):
    """Yield the unpacked entries: each follows four bytes that hold its length."""
    while database:
        packing = zlib.decompressobj()
        yield packing.decompress(database[4:])
        database = packing.unused_data


def lines(entry):
    """Return the texts of a serialised vector: after a header their count, and each after its size."""
    (count,), at = struct.unpack(">I", entry[27:31]), 31
    for _ in range(count):
        (size,) = struct.unpack(">I", entry[at + 4 : at + 8])
        yield entry[at + 8 : at + 8 + size].decode()
        at += 8 + size


def paragraphs(novel):
    """Return the paragraphs of lines, each as one line: without headings, underscores and the editor's note."""
    text = "\n".join(novel).replace("--", " - ").replace("_", "")
    parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text)]
    parts = parts[: parts.index(NOTE)] if NOTE in parts else parts
    return [part for part in parts if part and not HEADING.fullmatch(part)]


def pack(name, parts):
    packed = lzma.compress("\n".join(parts).encode(), preset=9 | lzma.PRESET_EXTREME)
    (FOLDER / f"{name}.txt.xz").write_bytes(packed)


def main(path):
    database = Path(path).read_bytes()
    found = hashlib.sha256(database).hexdigest()
    if found != SHA256:
        sys.exit(f"{path} is another file than the one that was packed: its SHA-256 is {found}, not {SHA256}.")
    novels = {novel[0]: novel for novel in map(paragraphs, map(lines, entries(database)))}
    pack("training", [part for title, count in HELD_OUT.items() for part in novels[title][:-count]])
    pack("held_out", [part for title, count in HELD_OUT.items() for part in novels[title][-count:]])


if __name__ == "__main__":
    main(sys.argv[1])
