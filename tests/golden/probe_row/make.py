"""Writes the golden files of this folder with Apache Arrow's Python library; see PROVENANCE.md."""

import pyarrow as pa

TIMES_US = [1750000000000000, 1750000000000001, 1750000004500000]


def stream(columns):
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def write(name, times, addresses):
    inner = stream(
        {
            "event_time": times,
            "src_addr": addresses(["192.0.2.1"] * 3),
            "dst_addr": addresses(["203.0.113.9", "198.51.100.7", "203.0.113.9"]),
            "ip_version": pa.array([4, 4, 4], pa.int8()),
            "rtt": pa.array([12.5, -1, 0.25], pa.float32()),
        }
    )
    outer = stream(
        {
            "src_id": pa.array([941121303211370278], pa.int64()),
            "measurements": pa.array([inner], pa.binary()),
            "n_measurements": pa.array([3], pa.int32()),
            "time_span_seconds": pa.array([4.5], pa.float64()),
            "first_timestamp": pa.array([TIMES_US[0]], pa.timestamp("us")),
            "last_timestamp": pa.array([TIMES_US[2]], pa.timestamp("us")),
        }
    )
    with open(name + ".arrow", "wb") as file:
        file.write(outer)


us = pa.array(TIMES_US, pa.timestamp("us"))
write("dictionary", us, lambda texts: pa.array(texts).dictionary_encode())
write("plain", us.cast(pa.timestamp("ns", "UTC")), lambda texts: pa.array(texts, pa.string()))
write(
    "small_index",
    us,
    lambda texts: pa.array(texts).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())),
)
