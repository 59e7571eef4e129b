"""Writes measurements as other programs do: the files of this folder. Usage: python make.py FOLDER"""

import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

NUM_ROWS = 40
folder = Path(sys.argv[1])

times_us = [(1_750_000_000 + 61 * i) * 1_000_000 + (i % 10) * 1000 for i in range(NUM_ROWS)]
is_ipv6 = [i % 3 == 2 for i in range(NUM_ROWS)]
sources = [f"2001:db8::{i % 5 + 1:x}" if v6 else f"192.0.2.{i % 5 + 1}" for i, v6 in enumerate(is_ipv6)]
destinations = [f"2001:db8:1::{i:x}" if v6 else f"198.51.100.{i}" for i, v6 in enumerate(is_ipv6)]
rtts = [-1.0 if i % 7 == 0 else 1.25 * i for i in range(NUM_ROWS)]


def table(unit="us", zone="UTC", rtt_name="rtt", rtt_type=pa.float64(), text=pa.string(), optional=True):
    divisor = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": 1}[unit]
    times = [t // divisor * (1000 if unit == "ns" else 1) for t in times_us]
    time_type = pa.int64() if unit == "s" else pa.timestamp(unit, zone)
    columns = {
        "event_time": pa.array(times, pa.int64()).cast(time_type),
        "src_addr": pa.array(sources, text),
        "dst_addr": pa.array(destinations, text),
        rtt_name: pa.array(rtts, rtt_type),
    }
    if optional:
        columns["msm_id"] = pa.array([1000 + i % 3 for i in range(NUM_ROWS)], pa.int64())
        columns["ip_version"] = pa.array([6 if v6 else 4 for v6 in is_ipv6], pa.int64())
        columns["size"] = pa.array([64] * NUM_ROWS, pa.int64())
        columns["packet_error_count"] = pa.array([i % 2 for i in range(NUM_ROWS)], pa.int64())
    return pa.table(columns)


def write(name, rows, **options):
    pq.write_table(rows, folder / f"{name}.parquet", **options)


write("microseconds-snappy", table())
write("milliseconds-zstd", table("ms"), compression="zstd")
write("nanoseconds-gzip", table("ns"), compression="gzip")
write("no-zone-brotli", table(zone=None), compression="brotli")
write("berlin-lz4", table("ms", "Europe/Berlin"), compression="lz4")
write("seconds-plain", table("s"), compression="none", use_dictionary=False)
write("int96", table("ns"), use_deprecated_int96_timestamps=True)
write("data-pages-v2", table(), data_page_version="2.0", compression="zstd")
write("row-groups-of-seven", table(), row_group_size=7, data_page_size=64)
write("rtt-avg-float", table(rtt_name="rtt_avg", rtt_type=pa.float32()))
write("needed-columns-only", table(optional=False))
write("large-strings", table(text=pa.large_string()), use_dictionary=False)
write("dictionary-strings", table(text=pa.dictionary(pa.int32(), pa.string())))
encodings = {"event_time": "DELTA_BINARY_PACKED", "src_addr": "DELTA_BYTE_ARRAY", "dst_addr": "DELTA_LENGTH_BYTE_ARRAY"}
write("delta", table(), use_dictionary=False, column_encoding={**encodings, "rtt": "BYTE_STREAM_SPLIT"})
write("empty", table().slice(0, 0))
pq.write_to_dataset(table(), folder / "hive", partition_cols=["ip_version"], basename_template="part-{i}.parquet")

rows = table()
for name, options in {
    "duckdb": "",
    "duckdb-zstd-v2": ", COMPRESSION zstd, PARQUET_VERSION v2",
    "duckdb-lz4": ", COMPRESSION lz4_raw",
}.items():
    duckdb.sql(f"COPY rows TO '{folder / name}.parquet' (FORMAT parquet{options})")
