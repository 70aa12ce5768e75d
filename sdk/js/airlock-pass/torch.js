// What a pass uses of `torch`: operators, dtypes and the like as values.

import { ops, targetOf } from "./ops.js";
import { DType, Device, Layout, MemoryFormat } from "./values.js";

const DTYPES = {
  float64: "double", float32: "float", float16: "half", bfloat16: "", int64: "long", int32: "int", int16: "short", int8: "",
  uint8: "", bool: "", complex64: "", complex128: "", float8_e4m3fn: "", float8_e5m2: "",
};

export const torch = {
  ops,
  /** An operator by its text, as `higher_order.cond` or `_operator.getitem`. */
  op: targetOf,
  device: (name) => Device.of(name),
  strided: Layout.of("strided"),
  contiguous_format: MemoryFormat.of("contiguous_format"),
  preserve_format: MemoryFormat.of("preserve_format"),
  channels_last: MemoryFormat.of("channels_last"),
};

for (const [name, alias] of Object.entries(DTYPES)) {
  torch[name] = DType.of(name);
  if (alias) torch[alias] = torch[name];
}
