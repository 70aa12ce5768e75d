"""Reads serialized GE models by a set of descriptors: each must be the recorded model, and what protobuf writes of it must be its bytes.

Arguments: the descriptors, then two files a model, ours and the recorded one. Where an attribute has no value, protobuf writes an empty one and
prost none: these models are the same once read, and are counted. The order of map keys is protobuf's own to choose: its Python code sorts them,
its C code puts `group_size` before `group`.
"""

import os
import sys
from pathlib import Path

os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

descriptors, *files = sys.argv[1:]
pool = descriptor_pool.DescriptorPool()
for file in descriptor_pb2.FileDescriptorSet.FromString(Path(descriptors).read_bytes()).file:
    pool.Add(file)
Model = message_factory.GetMessageClass(pool.FindMessageTypeByName("ge.proto.ModelDef"))
same = 0
for ours, recorded in zip(files[::2], files[1::2]):
    content = Path(ours).read_bytes()
    read = Model.FromString(content)
    if not read.graph or not read.graph[0].op or read != Model.FromString(Path(recorded).read_bytes()):
        sys.exit(f"{ours} is not {recorded}")
    same += read.SerializeToString(deterministic=True) == content
print(len(files) // 2, "graphs,", same, "to the byte")
