"""Writes the golden files of this folder with Google's array_record; see PROVENANCE.md."""

import gzip
import os
import tempfile

from array_record.python.array_record_module import ArrayRecordWriter

SIZES = [0, 1, 65511, 65512, 65513, 100, 0, 0, 0, 131005, 7, 65496, 3, 300000, 0, 12]
OPTIONS = ["uncompressed", "zstd", "brotli", "snappy"]


def record(index, size):
    return bytes((7 * index + k) & 255 for k in range(size))


def write(name, options, records):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        writer = ArrayRecordWriter(path, options)
        for item in records:
            writer.write(item)
        writer.close()
        with open(path, "rb") as file:
            content = file.read()
    with open(name + ".gz", "wb") as file:
        file.write(gzip.compress(content, 9, mtime=0))


records = [record(i, size) for i, size in enumerate(SIZES)]
for group_size in [1, 7]:
    for option in OPTIONS:
        write(f"{option}-{group_size}.array_record", f"group_size:{group_size},{option}", records)
write("empty.array_record", "group_size:1,uncompressed", [])
write("two_thousand.array_record", "group_size:1,uncompressed", [record(i, i % 5) for i in range(2000)])
