"""Writes the golden event file with TensorBoard's own messages and record writer, and reads it again."""
import struct
import sys

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

NAN = struct.unpack("<f", b"\x00\x00\xc0\x7f")[0]
STEPS = [
    (1, {"train/loss": 5.5, "train/lr": 0.001}),
    (2, {"train/loss": NAN, "train/lr": 0.002}),
    (300, {"train/loss": 1 / 3, "train/lr": 1e-12, "eval/loss": 2.25}),
    (3_000_000_000, {"train/loss": 0.0, "train/lr": -0.0}),
]

path = sys.argv[1]
with open(path, "wb") as file:
    writer = RecordWriter(file)
    writer.write(Event(wall_time=1_600_000_000.0, file_version="brain.Event:2").SerializeToString())
    for i, (step, scalars) in enumerate(STEPS):
        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in scalars.items()]
        event = Event(wall_time=1_600_000_000.5 + i, step=step, summary=Summary(value=values))
        writer.write(event.SerializeToString())
