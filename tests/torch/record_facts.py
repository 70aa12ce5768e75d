#!/usr/bin/env python3
"""Records facts of operators from PyTorch on a CPU, once, so that the registry can be held against them.

    python tests/torch/record_facts.py                              # writes tests/facts (some minutes on two cores)
    python tests/torch/record_facts.py --wide DIR                   # six times as many lines, for mending a rule
    python tests/torch/record_facts.py --of DIR                     # tests/facts from such a recording
    python tests/torch/record_facts.py --only aten.add --show       # one family of names, to the screen

What is called: every overload of src/ops/schemas/aten.txt and prims.txt that can be. The calls begin with the recorded samples of
tests/golden (or --golden DIR) and with the calls of `OWN` below, and are varied: contiguous, with gaps, transposed, expanded, at an
offset, channels last; the same tensor twice, views that overlap; sizes 0, 1, 2; flags at both ends, probabilities 0 and 1, other
dimensions; each dtype, mixed dtypes, scalars against tensors; adverse contents (NaN, infinities, negative and huge indices, zeros).
What is written down: whether it raised, and whether contents alone were the reason (the same call with other contents did not);
sizes, strides, offset and dtype of results; whose storage they share; which storages changed; whether the generator moved; whether
the first two tensors can be exchanged bit for bit. Of calls that say nothing new only a few are kept. Format: tests/facts/README.md.

Each operator is called in a process of its own, so that a crash is a fact too. Without PyTorch it says so and ends well.
"""

import argparse
import collections
import ctypes
import itertools
import json
import math
import os
import pathlib
import random
import re
import resource
import signal
import sys
import time
import warnings

try:
    import torch
except ImportError:
    print("record_facts: skipped, PyTorch is not installed (pip install torch)")
    sys.exit(0)
import base64

import torch._prims  # noqa: F401  (registers torch.ops.prims)

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DT = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32,
      "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "b8": torch.bool, "c64": torch.complex64, "c128": torch.complex128,
      "c32": torch.complex32, "f8e4m3fn": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2, "u16": torch.uint16, "u32": torch.uint32,
      "u64": torch.uint64}
DTN = {v: k for k, v in DT.items()}
MF = {torch.contiguous_format: "contiguous", torch.channels_last: "channels_last", torch.channels_last_3d: "channels_last_3d",
      torch.preserve_format: "preserve"}
EVERY = ["f32", "f64", "f16", "bf16", "c64", "i64", "i32", "u8", "b8"]
MOST_ELEMENTS = 4096
# Calls with such operands would measure the machine, or end it.
SKIPPED = {"aten._assert_scalar.default", "aten.sym_constrain_range.default", "aten.sym_constrain_range_for_size.default"}

# ---------------------------------------------------------------- calls of our own: what the samples leave out


def r(*shape, d="f32", s=0, lo=-3.0, hi=3.0):
    g = torch.Generator().manual_seed(1000 + s + sum(shape))
    if d == "b8":
        return torch.rand(shape, generator=g) > 0.5
    if d in ("i64", "i32", "i16", "i8", "u8"):
        return torch.randint(max(0, int(lo)) if d == "u8" else int(lo), int(hi) + 1, shape, generator=g).to(DT[d])
    if d == "c64":
        return torch.complex(torch.randn(shape, generator=g), torch.randn(shape, generator=g))
    return (torch.rand(shape, generator=g, dtype=torch.float64) * (hi - lo) + lo).to(DT[d])


def v(values, d="f32"):
    return torch.tensor(values, dtype=DT[d])


OWN = {
    "aten.alpha_dropout.default": ["r(2,3), 0.0, True", "r(2,3), 0.0, False", "r(2,3), 0.5, True", "r(2,3), 1.0, True", "r(0,3), 0.5, True"],
    "aten.feature_dropout.default": ["r(2,3,4), 0.0, True", "r(2,3,4), 0.0, False", "r(2,3,4), 0.5, True", "r(2,3,4), 1.0, True"],
    "aten.dropout.default": ["r(2,3), 0.0, True", "r(2,3), 0.0, False", "r(2,3), 0.5, True", "r(2,3), 1.0, True", "r(0,3), 0.5, True"],
    "aten.native_dropout.default": ["r(2,3), 0.0, True", "r(2,3), 0.5, False", "r(2,3), 0.5, None", "r(2,3), 1.0, True", "r(0,3), 0.5, True"],
    "aten.einsum.default": ["'ii->i', [r(4,4)]", "'ij->ji', [r(2,3)]", "'ij->ij', [r(2,3)]", "'ij->i', [r(2,3)]", "'ij,jk->ik', [r(2,3), r(3,4)]", "'i,i->i', [r(3), r(3)]",
                            "'i,j->ij', [r(3), r(2)]", "'...ij->...ji', [r(2,3,4)]", "'ij,j->ji', [r(2,3), r(3)]", "'ijk->kij', [r(2,3,4)]", "'iij->j', [r(2,2,3)]", "'ij,ij->', [r(2,3), r(2,3)]",
                            "'bij,bjk->bik', [r(2,3,4), r(2,4,5)]", "'ij,jk,kl->il', [r(2,3), r(3,2), r(2,4)]", "'ij->', [r(1,1)]", "'ij->j', [r(1,3)]", "',i->i', [v(2.0), r(3)]", "'i->i', [r(3)]"],
    "aten.pad.default": ["r(2,3), [0,0]", "r(2,3), [0,0,0,0]", "r(2,3), [1,2]", "r(2,3), [-1,0]", "r(1,2,4), [0,0], 'reflect'", "r(1,2,4), [1,1], 'reflect'", "r(1,2,4), [1,0], 'replicate'", "r(1,2,4), [1,1], 'circular'",
                         "r(1,2,4,4), [0,0,0,0], 'replicate'", "r(2,3), [0,0], 'constant', 1.5", "r(2,3), []"],
    "aten.constant_pad_nd.default": ["r(2,3), [0,0]", "r(2,3), [1,1,0,2], 3", "r(2,3), []", "r(2,3), [-1,-1]"],
    "aten.to.dtype": ["r(2,3), torch.float32", "r(2,3), torch.float64", "r(2,3), torch.float32, False, True", "r(2,3), torch.float32, False, False, torch.contiguous_format", "r(1,2,2,3), torch.float32, False, False, torch.channels_last",
                      "r(2,3), torch.float32, False, False, torch.preserve_format", "r(1,2,2,3), torch.float16, False, False, torch.channels_last"],
    "aten.to.device": ["r(2,3), torch.device('cpu'), torch.float32", "r(2,3), torch.device('cpu'), torch.float16", "r(2,3), torch.device('cpu'), torch.float32, False, True", "r(1,2,2,3), torch.device('cpu'), torch.float32, False, False, torch.channels_last"],
    "aten.to.other": ["r(2,3), r(3)", "r(2,3), r(3,d='f16')", "r(2,3), r(2,3), False, True", "r(1,2,2,3), r(2), False, False, torch.channels_last"],
    "aten.to.dtype_layout": ["r(2,3)", "r(2,3), dtype=torch.float32", "r(2,3), dtype=torch.float64", "r(2,3), dtype=torch.float32, copy=True", "r(2,3), device=torch.device('cpu')", "r(1,2,2,3), memory_format=torch.channels_last", "r(2,3), layout=torch.strided, memory_format=torch.contiguous_format"],
    "aten.type_as.default": ["r(2,3), r(3)", "r(2,3), r(3,d='f16')", "r(2,3), r(2,3)", "r(2,3,d='i64'), v(1,'i64')"],
    "aten._to_copy.default": ["r(2,3)", "r(2,3), dtype=torch.float32", "r(2,3), memory_format=torch.contiguous_format", "r(1,2,2,3), memory_format=torch.channels_last", "r(2,3), dtype=torch.int64"],
    "aten.contiguous.default": ["r(2,3)", "r(1,2,2,3), memory_format=torch.channels_last", "r(2,1,2,1), memory_format=torch.channels_last", "r(0,3)", "v(1.0)", "r(1,1,2,2,2), memory_format=torch.channels_last_3d"],
    "aten.clone.default": ["r(2,3)", "r(2,3), memory_format=torch.contiguous_format", "r(1,2,2,3), memory_format=torch.channels_last", "r(2,3), memory_format=torch.preserve_format"],
    "aten.real.default": ["r(2,3)", "r(2,3,d='c64')", "r(2,3,d='i64')", "v(1.0)"],
    "aten.imag.default": ["r(2,3,d='c64')", "r(2,3)"],
    "aten.conj.default": ["r(2,3)", "r(2,3,d='c64')", "r(2,3,d='i64')"],
    "aten._conj.default": ["r(2,3)", "r(2,3,d='c64')"],
    "aten.resolve_conj.default": ["r(2,3)", "r(2,3,d='c64')", "r(2,3,d='c64').conj()"],
    "aten.resolve_neg.default": ["r(2,3)", "r(2,3,d='c64')", "r(2,3,d='c64').conj().imag"],
    "aten.positive.default": ["r(2,3)", "r(2,3,d='b8')", "r(2,3,d='c64')"],
    "aten.tensor_split.sections": ["r(7,2), 3", "r(7,2), 1", "r(2,7), 9, 1", "r(6), 3", "r(0,2), 2"],
    "aten.tensor_split.indices": ["r(7,2), [2,5]", "r(7,2), [4,2,6]", "r(7,2), []", "r(2,7), [-2,9], 1", "r(0,2), [1]"],
    "aten.atleast_1d.default": ["v(1.0)", "r(3)", "r(2,3)"],
    "aten.atleast_2d.default": ["v(1.0)", "r(3)", "r(2,3)", "r(2,3,4)"],
    "aten.meshgrid.indexing": ["[r(2), r(3)], indexing='ij'", "[r(2), r(3)], indexing='xy'", "[r(2)], indexing='ij'", "[v(1.0), r(3)], indexing='ij'", "[r(2), r(3), r(4)], indexing='xy'", "[v(1.0)], indexing='xy'"],
    "aten.broadcast_to.default": ["r(2,3), [2,3]", "r(3), [2,3]", "r(2,1), [2,0]", "r(2,1), [4,2,-1]"],
    "aten.expand.default": ["r(2,3), [2,3]", "r(3), [2,3]", "r(2,1), [2,0]", "r(2,1), [2,-1]"],
    "aten.expand_as.default": ["r(2,3), r(2,3)", "r(3), r(2,3)"],
    "aten.reshape_as.default": ["r(2,3), r(3,2)", "r(2,3), r(6)", "r(2,3), r(2,3)"],
    "aten.view_as.default": ["r(2,3), r(3,2)", "r(2,3), r(2,3)"],
    "aten.reshape.default": ["r(2,3), [3,2]", "r(2,3), [6]", "r(2,3), [2,3]", "r(2,3,4), [2,-1]", "r(0,3), [0]", "r(1,1), []", "r(2,1,3), [2,3]", "r(2,3,4), [6,4]", "r(2,3,4), [2,12]"],
    "aten.flatten.using_ints": ["r(2,3,4)", "r(2,3,4), 1", "r(2,3,4), 0, 1", "r(2,3), 1, 1", "v(1.0)", "r(3)", "r(2,3,4), 1, 1"],
    "aten._unsafe_view.default": ["r(2,3), [3,2]", "r(2,3), [2,3]", "r(2,3), [6]"],
    "aten.squeeze.default": ["r(2,3)", "r(2,1,3)", "r(1,1)", "v(1.0)"],
    "aten.squeeze.dim": ["r(2,3), 0", "r(2,1,3), 1", "v(1.0), 0"],
    "aten.squeeze.dims": ["r(2,3), [0]", "r(2,1,3,1), [1,3]", "r(2,1), []"],
    "aten.repeat.default": ["r(2,3), [1,1]", "r(2,3), [2,1]", "r(2,3), [1,1,1]", "v(1.0), []", "r(2,3), [0,1]"],
    "aten.tile.default": ["r(2,3), [1,1]", "r(2,3), [1]", "r(2,3), []", "r(2,3), [2,1,2]"],
    "aten.repeat_interleave.self_int": ["r(2,3), 1", "r(2,3), 2, 0", "r(2,3), 1, 1", "r(2,3), 0, 0"],
    "aten.flip.default": ["r(2,3), []", "r(2,3), [0]", "r(2,3), [0,1]"],
    "aten.roll.default": ["r(2,3), [0]", "r(2,3), [1], [0]", "r(2,3), [0], [1]", "r(2,3), [1,2], [0,1]", "r(0,3), [1], [0]"],
    "aten.rot90.default": ["r(2,3), 0", "r(2,3), 1", "r(2,3), 2", "r(2,3), 3, [1,0]"],
    "aten.cat.default": ["[r(2,3)]", "[r(2,3), r(1,3)]", "[r(2,3), r(2,2)], 1", "[r(2,3), r(0)]", "[r(0), r(0)]", "[r(1,2,2,2), r(1,2,2,2)], 1", "[r(2,3), r(2,3,d='f16')]", "[r(2,3), r(0,3)]"],
    "aten.concat.default": ["[r(2,3)]", "[r(2,3), r(1,3)]", "[r(2,3), r(0)]"],
    "aten.stack.default": ["[r(2,3)]", "[r(2,3), r(2,3,s=1)]", "[r(2,3), r(2,3)], 1", "[r(2,3), r(2,3)], -1"],
    "aten.hstack.default": ["[r(3)]", "[r(2,3), r(2,1)]", "[v(1.0), v(2.0)]", "[r(2,3)]"],
    "aten.vstack.default": ["[r(3)]", "[r(2,3), r(1,3)]", "[v(1.0), v(2.0)]", "[r(2,3)]"],
    "aten.block_diag.default": ["[r(2,3)]", "[r(2,3), r(1)]"],
    "aten.diff.default": ["r(2,3), 0", "r(2,3), 1", "r(2,3), 5", "r(2,3,d='b8')", "r(2,3), 1, 1, r(2,1), r(2,2)", "r(2,3), 0, 1, r(2,1)"],
    "aten.pixel_shuffle.default": ["r(1,4,2,2), 1", "r(1,4,2,2), 2"],
    "aten.pixel_unshuffle.default": ["r(1,4,2,2), 1", "r(1,4,2,2), 2"],
    "aten.channel_shuffle.default": ["r(1,4,2,2), 1", "r(1,4,2,2), 2"],
    "aten.rms_norm.default": ["r(2,4), [4]", "r(2,3,4), [4], r(4)", "r(2,3,4), [3,4], r(3,4), 1e-5", "r(4,6), [6]"],
    "aten.layer_norm.default": ["r(2,4), [4]", "r(2,3,4), [4], r(4), r(4)", "r(2,3,4), [3,4], r(3,4), None"],
    "aten.ldexp.Tensor": ["r(10,1,5), r(1,10,5)", "r(2,3), r(2,3)", "r(2,3), r(3)", "r(2,3), r(2,3,d='i64')"],
    "aten.batch_norm.default": ["r(2,3,4), r(3), r(3), r(3), r(3,lo=0.1), True, 0.1, 1e-5, True", "r(2,3,4), r(3), r(3), r(3), r(3,lo=0.1), False, 0.1, 1e-5, True", "r(2,3,4), None, None, None, None, True, 0.1, 1e-5, True",
                                "r(2,3,2,2), r(3), r(3), r(3), r(3,lo=0.1), True, 0.0, 1e-5, False", "r(1,3), r(3), r(3), r(3), r(3,lo=0.1), True, 0.1, 1e-5, True"],
    "aten.instance_norm.default": ["r(2,3,4), r(3), r(3), r(3), r(3,lo=0.1), True, 0.1, 1e-5, True", "r(2,3,4), r(3), r(3), r(3), r(3,lo=0.1), False, 0.1, 1e-5, True", "r(2,3,4), None, None, None, None, True, 0.1, 1e-5, True"],
    "aten.native_batch_norm.default": ["r(2,3,4), r(3), r(3), r(3), r(3,lo=0.1), True, 0.1, 1e-5", "r(2,3,4), r(3), r(3), r(3), r(3,lo=0.1), False, 0.1, 1e-5", "r(2,3,4), None, None, None, None, True, 0.1, 1e-5"],
    "aten.complex.default": ["r(2,3), r(2,3)", "r(2,3,d='f16'), r(2,3,d='f16')", "r(2,3,d='bf16'), r(2,3,d='bf16')", "r(2,3), r(3)"],
    "aten.polar.default": ["r(2,3), r(2,3)", "r(2,3,d='f16'), r(2,3,d='f16')", "r(2,3), r(3)", "r(2,3,d='f64'), r(2,3,d='f64')"],
    "aten.view_as_real.default": ["r(2,3,d='c64')", "r(2,3,d='c64').conj()", "r(2,3)"],
    "aten.view_as_complex.default": ["r(3,2)", "r(2,3,2,d='f64')", "r(3,2,d='f16')", "r(3,2,d='bf16')"],
    "aten.std_mean.default": ["r(2,3)", "r(2,3,4), False", "v(1.0)", "r(1)"],
    "aten.std_mean.dim": ["r(2,3), [1]", "r(2,3,4), [0,2], False, True", "r(2,3), None", "r(1,3), [0]", "v(1.0), [0]"],
    "aten.var_mean.default": ["r(2,3)", "r(2,3,4), False", "v(1.0)", "r(1)"],
    "aten.tensordot.default": ["r(2,3,4), r(4,3,5), [2,1], [0,1]", "r(2,3), r(3,2), [1], [0]", "r(2,3), r(2,3), [0,1], [0,1]", "r(2), r(3), [], []", "v(1.0), r(3), [], []", "r(2,3), v(1.0), [0], [-1]", "r(3), r(3), [0], [-1]"],
    "aten.linalg_multi_dot.default": ["[r(2,3), r(3,4)]", "[r(2,3), r(3,4), r(4,5)]", "[r(3), r(3,4), r(4,2)]", "[r(2,3), r(3,4), r(4)]", "[r(3), r(3,4), r(4)]", "[r(2,3), r(3,2), r(2,3), r(3,2)]", "[r(3), r(3)]"],
    "aten.chain_matmul.default": ["[r(2,3)]", "[r(2,3), r(3,4)]", "[r(2,3), r(3,4), r(4,5)]", "[r(3), r(3,4)]"],
    "aten.triplet_margin_loss.default": ["r(4,3), r(4,3,s=1), r(4,3,s=2)", "r(3), r(3), r(3), 0.5, 1.0", "v(1.0), v(2.0), v(3.0)", "r(4,3), r(4,3), r(4,3), 1.0, 2.0, 1e-6, True, 0", "r(2,4,3), r(2,4,3), r(2,4,3)", "r(4,0), r(4,0), r(4,0), 1.0, 1.0", "r(4,3), r(1,3), r(4,3)", "r(4,3), r(3), r(4,3)"],
    "aten.pairwise_distance.default": ["r(4,3), r(4,3)", "r(3), r(3), 1.0", "v(1.0), v(2.0)", "r(4,3), r(3), 2.0, 1e-6, True", "r(2,4,3), r(2,4,3), 0.5", "r(4,0), r(4,0)"],
    "aten.special_erfc.default": ["r(2,3)", "v(1.0)"], "aten.special_erf.default": ["r(2,3)", "v(1.0)"], "aten.special_expit.default": ["r(2,3)", "v(1.0)"],
    "aten.special_exp2.default": ["r(2,3)", "v(1.0)"], "aten.special_expm1.default": ["r(2,3)", "v(1.0)"], "aten.special_log1p.default": ["r(2,3)", "v(1.0)"],
    "aten.special_gammaln.default": ["r(2,3)", "v(1.0)"], "aten.special_digamma.default": ["r(2,3)", "v(1.0)"], "aten.special_psi.default": ["r(2,3)", "v(1.0)"],
    "aten.special_erfinv.default": ["r(2,3)", "v(1.0)"], "aten.special_sinc.default": ["r(2,3)", "v(1.0)"], "aten.special_i0.default": ["r(2,3)", "v(1.0)"],
    "aten.special_logsumexp.default": ["r(2,3), [1]", "r(2,3,4), [0,2], True"], "aten.special_softmax.default": ["r(2,3), 1", "r(2,3), 0, torch.float64"], "aten.special_log_softmax.default": ["r(2,3), 1"],
    "aten.special_entr.default": ["r(2,3)", "v(1.0)"], "aten.special_xlog1py.default": ["r(2,3), r(2,3)", "r(2,3), r(3)", "v(1.0), r(2,3)"], "aten.special_xlogy.default": ["r(2,3), r(2,3)", "r(2,3), r(3)"],
    "aten.absolute.default": ["r(2,3)", "v(1.0)"], "aten.negative.default": ["r(2,3)", "v(1.0)"], "aten.fix.default": ["r(2,3)"],
    "aten.arccos.default": ["r(2,3)"], "aten.arccosh.default": ["r(2,3)"], "aten.arcsin.default": ["r(2,3)"], "aten.arcsinh.default": ["r(2,3)"], "aten.arctan.default": ["r(2,3)"],
    "aten.arctanh.default": ["r(2,3)"], "aten.arctan2.default": ["r(2,3), r(2,3)", "r(2,3), r(3)"], "aten.ger.default": ["r(2), r(3)"],
    "aten.greater.Tensor": ["r(2,3), r(3)"], "aten.greater_equal.Tensor": ["r(2,3), r(3)"], "aten.less.Tensor": ["r(2,3), r(3)"], "aten.less_equal.Tensor": ["r(2,3), r(3)"], "aten.not_equal.Tensor": ["r(2,3), r(3)"],
    "aten.greater.Scalar": ["r(2,3), 0.5"], "aten.greater_equal.Scalar": ["r(2,3), 0.5"], "aten.less.Scalar": ["r(2,3), 0.5"], "aten.less_equal.Scalar": ["r(2,3), 0.5"], "aten.not_equal.Scalar": ["r(2,3), 0.5"],
    "aten.multiply.Scalar": ["r(2,3), 0.5"], "aten.concatenate.default": ["[r(2,3), r(1,3)]", "[r(2,3), r(2,2)], 1", "[r(2,3), r(0)]"], "aten.swapdims.default": ["r(2,3), 0, 1", "v(1.0), 0, -1"],
    "aten.moveaxis.int": ["r(2,3,4), 0, 2"], "aten.moveaxis.intlist": ["r(2,3,4), [0], [2]"],
    "aten.ravel.default": ["r(2,3)", "v(1.0)", "r(0,3)"], "aten.fliplr.default": ["r(2,3)", "r(2,3,4)", "r(3)"], "aten.flipud.default": ["r(2,3)", "r(3)", "v(1.0)"],
    "aten.isreal.default": ["r(2,3)", "r(2,3,d='c64')"], "aten.atleast_3d.default": ["v(1.0)", "r(3)", "r(2,3)", "r(2,3,4)", "r(2,3,4,5)"],
    "aten.column_stack.default": ["[r(3), r(3)]", "[r(3,2), r(3)]", "[v(1.0), v(2.0)]"], "aten.dstack.default": ["[r(3), r(3)]", "[r(3,2), r(3,2)]", "[v(1.0), v(2.0)]"],
    "aten.mH.default": ["r(2,3)", "r(2,3,4)", "v(1.0)", "r(3)"],
    "aten.hardsigmoid_backward.default": ["r(2,3), r(2,3,s=1)", "v(1.0), v(2.0)"], "aten.hardshrink_backward.default": ["r(2,3), r(2,3,s=1), 0.5"], "aten.softshrink_backward.default": ["r(2,3), r(2,3,s=1), 0.5"],
    "aten.mish_backward.default": ["r(2,3), r(2,3,s=1)", "v(1.0), v(2.0)"], "aten.glu_backward.default": ["r(2,2), r(2,4), 1", "r(2,3), r(4,3), 0"],
    "aten.huber_loss_backward.default": ["r(2,3), r(2,3), r(2,3,s=1), 0, 1.0", "v(1.0), r(2,3), r(2,3,s=1), 1, 0.5"], "aten.smooth_l1_loss_backward.default": ["r(2,3), r(2,3), r(2,3,s=1), 0, 1.0", "v(1.0), r(2,3), r(2,3,s=1), 1, 0.5"],
    "aten.soft_margin_loss_backward.default": ["r(2,3), r(2,3), r(2,3,s=1), 0", "v(1.0), r(2,3), r(2,3,s=1), 1"],
    "aten._weight_norm.default": ["r(4,3), r(4,1)", "r(4,3), r(1,3), 1", "r(2,3,4), r(2,1,1), 0", "r(2,3,4), r(1,3,1), 1", "r(2,3,4), r(1,1,4), 2", "r(3), r(3)", "r(4,3), r(4,1), -1"],
    "aten.var.correction": ["r(2,3), [1], correction=1", "r(2,3,d='i64'), [1], correction=1", "r(2,3), None, correction=0", "r(1,1), [0], correction=1"],
    "aten.transpose_.default": ["r(2,3), 0, 1"],
    "aten.transpose_.int": ["r(2,3), 0, 1"],
    "aten.transpose.int": ["r(2,3), 0, 1", "r(2,3), 0, 0", "v(1.0), 0, -1"],
    "aten.swapaxes.default": ["r(2,3), 0, 1", "r(2,3), 0, 0"],
    "aten.unflatten.int": ["r(2,6), 1, [2,3]", "r(2,6), 1, [-1,3]"],
    "aten.movedim.intlist": ["r(2,3,4), [0], [2]", "r(2,3,4), [], []"],
    "aten.nan_to_num.default": ["r(2,3)", "r(2,3,d='i64')", "r(2,3,d='b8')"],
    "aten.mul.Tensor": ["v([1.5,2.5],'f16'), v(3.3)", "v(3.3), v([1.5,2.5],'f16')", "r(2,3), r(3)"],
    "aten.add.Tensor": ["v([1.5,2.5],'f16'), v(3.3)", "v(3.3), v([1.5,2.5],'bf16')", "r(2,3), r(3)"],
    "aten._prelu_kernel_backward.default": ["r(2,3), r(2,3), r(3)"],
    "aten.grid_sampler_2d_backward.default": ["r(1,2,3,3), r(1,2,4,4), r(1,3,3,2), 0, 0, False, [True,True]"],
    "aten.hardswish_backward.default": ["r(2,3), r(2,3,s=1)"],
    "aten.log_sigmoid_backward.default": ["r(2,3), r(2,3,s=1), r(2,3,s=2)"],
    "aten.matmul_backward.default": ["r(2,4), r(2,3), r(3,4), [True,True]"],
    "aten.nll_loss_backward.default": ["v(1.0), r(2,3), v([0,2],'i64'), None, 1, -100, v(2.0)"],
    "aten.reflection_pad2d_backward.default": ["r(1,2,5,5), r(1,2,3,3), [1,1,1,1]"],
    "aten.upsample_nearest2d_backward.default": ["r(1,2,4,4), [4,4], [1,2,2,2]"],
    "aten._weight_int8pack_mm.default": ["r(2,32), r(4,32,d='i8'), r(4)"],
    "aten.cat.out": ["[r(2,3), r(2,3)], out=r(4,3)"],
    "aten.set_.source_Tensor_storage_offset": [],
    "aten._assert_async.msg": ["v(1.0), 'm'", "v(True,'b8'), 'm'"],
    "prims.convert_element_type.default": ["r(2,3), torch.float32", "r(2,3), torch.float64", "r(2,3), torch.int64"],
    "prims.where.default": ["r(2,3,d='b8'), r(2,3), r(2,3,s=1)"],
    "prims.transpose.default": ["r(2,3), [1,0]", "r(2,3), [0,1]", "r(2,3,4), [2,0,1]"],
    "prims.broadcast_in_dim.default": ["r(3), [2,3], [1]", "r(2,3), [2,3], [0,1]", "v(1.0), [2], []", "r(2,1), [2,4], [0,1]"],
    "prims.device_put.default": ["r(2,3), torch.device('cpu')", "r(2,3,d='i64'), torch.device('cpu')"],
    "prims.iota.default": ["5, start=0, step=1, dtype=torch.int64, device=torch.device('cpu'), requires_grad=False", "0, start=2, step=3, dtype=torch.int32, device=torch.device('cpu'), requires_grad=False"],
    "prims.fma.default": ["r(2,3), r(2,3), r(2,3)"],
}
for _name in ("sum", "amax", "amin", "prod", "var"):
    OWN[f"prims.{_name}.default"] = ["r(2,3), [0]", "r(2,3), [1]", "r(2,3), [0,1]", "r(2,3), []"] + (["r(2,3), [0], 0.0"] if _name == "var" else [])


def guessed(name, schema):
    """Calls of elementwise prims and of `_foreach` operators, by the kinds of their parameters."""
    if name in OWN:
        return OWN[name]
    kinds = [str(a.type) for a in schema.arguments if not a.has_default_value()]
    if name.startswith("aten._foreach_"):
        texts = {"List[Tensor]": ["[r(2,3), r(4)]", "[r(2,3,s=1), r(4,s=1)]", "[r(2,3,s=2), r(4,s=2)]"], "number": ["2"] * 3, "List[number]": ["[2.0, 3.0]"] * 3,
                 "Tensor": ["v(2.0)"] * 3}
        if all(k in texts for k in kinds):
            return [", ".join(texts[k][i] for i, k in enumerate(kinds))]
    if name.startswith("prims.") and kinds and set(kinds) == {"Tensor"}:
        return [", ".join(f"r(2,3,s={i})" for i in range(len(kinds))), ", ".join(f"r(2,3,4,s={i})" for i in range(len(kinds)))]
    return []


# ---------------------------------------------------------------- calls as trees over numbered tensors


class Ref:
    """Stands for tensor `i` of a call."""

    def __init__(self, i):
        self.i = i


def split(value, tensors):
    """Takes the tensors out of a tree of arguments."""
    if isinstance(value, torch.Tensor):
        for i, t in enumerate(tensors):
            if t is value:
                return Ref(i)
        tensors.append(value)
        return Ref(len(tensors) - 1)
    if isinstance(value, (list, tuple)):
        return [split(x, tensors) for x in value]
    return value


def join(value, tensors):
    if isinstance(value, Ref):
        return tensors[value.i]
    if isinstance(value, list):
        return [join(x, tensors) for x in value]
    return value


class Call:
    def __init__(self, args, kwargs, tensors, adverse=False):
        self.args, self.kwargs, self.tensors, self.adverse = args, kwargs, tensors, adverse

    @staticmethod
    def of(args, kwargs):
        tensors = []
        args = [split(a, tensors) for a in args]
        kwargs = {k: split(a, tensors) for k, a in kwargs.items()}
        return Call(args, kwargs, tensors)

    def with_tensors(self, tensors, adverse=False):
        return Call(self.args, self.kwargs, tensors, adverse)


def copies(tensors):
    """The same tensors over copied storages."""
    stores, out = {}, []
    for t in tensors:
        s = t.untyped_storage()
        if s._cdata not in stores:
            stores[s._cdata] = s.clone()
        u = torch.empty(0, dtype=t.dtype).set_(stores[s._cdata], t.storage_offset(), t.size(), t.stride())
        if t.is_conj():
            u = torch._C._VariableFunctions._conj(u)
        if t.is_neg():
            u = torch._neg_view(u)
        out.append(u)
    return out


def raw(s):
    n = s.nbytes()
    return ctypes.string_at(s.data_ptr(), n) if n else b""


def row_strides(sizes):
    out, step = [], 1
    for n in reversed(sizes):
        out.insert(0, step)
        step *= max(n, 1)
    return out


def row(t, k, fresh):
    """`f32[2,3](1,2)+4#0`: strides where not row by row, offset where not 0, storage where not the next one."""
    text = f"{DTN[t.dtype]}[{','.join(map(str, t.size()))}]"
    if list(t.stride()) != row_strides(list(t.size())):
        text += f"({','.join(map(str, t.stride()))})"
    if t.storage_offset():
        text += f"+{t.storage_offset()}"
    if k != fresh:
        text += f"#{k}"
    return text + ("*" if t.is_conj() else "") + ("!" if t.is_neg() else "")


def plain(value):
    if isinstance(value, Ref):
        return f"%{value.i}"
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, complex):
        return {"complex": [plain(value.real), plain(value.imag)]}
    if isinstance(value, torch.dtype):
        return {"dtype": DTN[value]}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, torch.layout):
        return {"layout": "strided"}
    if isinstance(value, torch.memory_format):
        return {"memory_format": MF[value]}
    if isinstance(value, (list, tuple)):
        return [plain(x) for x in value]
    raise ValueError(type(value))


class Table:
    """Tensors of a call, their storages found again."""

    def __init__(self):
        self.rows, self.objects, self.stores = [], [], []

    def storage(self, t):
        s = t.untyped_storage()
        for k, o in enumerate(self.stores):
            if o._cdata == s._cdata or (s.nbytes() and o.nbytes() and o.data_ptr() == s.data_ptr()):
                return k
        self.stores.append(s)
        return len(self.stores) - 1

    def add(self, t):
        for i, o in enumerate(self.objects):
            if o is t:
                return i
        if t.layout != torch.strided or t.dtype not in DTN or t.device.type != "cpu":
            raise ValueError("tensor")
        fresh = len(self.stores)
        k = self.storage(t)
        self.objects.append(t)
        self.rows.append(row(t, k, fresh))
        return len(self.rows) - 1

    def results(self, value):
        if isinstance(value, torch.Tensor):
            return f"%{self.add(value)}"
        if isinstance(value, (list, tuple)):
            return [self.results(x) for x in value]
        return plain(value)


def small_message(e):
    text = re.sub(r"0x[0-9a-f]+", "0x", str(e).split("\n")[0]).strip()
    return text[:56]


def bits(value):
    """All elements of all results, in order, with their dtypes and sizes; NaN as one NaN."""
    out = []
    for t in torch.utils._pytree.tree_leaves(value):
        if isinstance(t, torch.Tensor):
            u = t.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
            if u.dtype.is_floating_point:
                u = torch.where(u.isnan(), torch.full_like(u, math.nan), u)
            out.append((DTN[u.dtype], tuple(u.size()), bytes(u.flatten().view(torch.uint8).numpy()) if u.numel() else b""))
        else:
            out.append(repr(t))
    return out


def same_bits(value, operands):
    """Which operands the first result equals bit for bit, of those with its dtype and sizes; `None` where none has them."""
    leaves = [t for t in torch.utils._pytree.tree_leaves(value) if isinstance(t, torch.Tensor)]
    if not leaves or not leaves[0].numel():
        return None
    flat = lambda t: bytes(t.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format).flatten().view(torch.uint8).numpy())
    like = [i for i, t in enumerate(operands) if t.dtype == leaves[0].dtype and t.size() == leaves[0].size()]
    return [i for i in like if flat(operands[i]) == flat(leaves[0])] if like else None


def strides_of(value):
    return [t.stride() for t in torch.utils._pytree.tree_leaves(value) if isinstance(t, torch.Tensor)]


def fill(t, x):
    if t.dtype == torch.bool:
        return torch.full_like(t, bool(x), memory_format=torch.contiguous_format)
    if not t.dtype.is_floating_point and not t.dtype.is_complex:
        info = torch.iinfo(t.dtype)
        x = 0 if not math.isfinite(x) else max(info.min, min(info.max, int(x)))
    elif math.isfinite(x):
        most = torch.finfo(t.dtype).max
        x = max(-most, min(most, x))
    return torch.full_like(t, x, memory_format=torch.contiguous_format)


def refilled(tensors, how):
    """The same layouts with other contents."""
    out = copies(tensors)
    for t, u in zip(tensors, out):
        if t.numel() == 0 or t.is_conj() or t.is_neg():
            continue
        flat = torch.empty(0, dtype=t.dtype).set_(u.untyped_storage())
        flat.copy_(how(flat))
    return out


def benign():
    """Contents with which an operator of right types runs, one of them at least."""
    inexact = lambda t: t.dtype.is_floating_point or t.dtype.is_complex
    for f, i in itertools.product((0.5, 0.0, 1.0), (0, 1, 2)):
        yield lambda t: fill(t, f if inexact(t) else i)
    yield lambda t: (torch.arange(t.numel()) / max(1, t.numel())).to(t.dtype) if inexact(t) else torch.arange(t.numel()).to(t.dtype)
    yield lambda t: fill(t, 0.5) if inexact(t) else torch.arange(t.numel()).remainder(2).to(t.dtype)


class TooLong(Exception):
    pass


def invoke(op, call, tensors):
    signal.setitimer(signal.ITIMER_REAL, 4.0)
    try:
        return op(*join(call.args, tensors), **{k: join(a, tensors) for k, a in call.kwargs.items()})
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


BENIGN = {}


def by_contents(op, call, key):
    """Whether some other contents do not raise, types and arguments being the same."""
    if key not in BENIGN:
        BENIGN[key] = False
        for how in benign():
            try:
                invoke(op, call, refilled(call.tensors, how))
                BENIGN[key] = True
                break
            except Exception:
                pass
    return BENIGN[key]


def described(call):
    """A call that is not made."""
    table = Table()
    for t in copies(call.tensors):
        table.add(t)
    line = {"a": plain(call.args), "t": list(table.rows)}
    return line | {"k": {k: plain(a) for k, a in call.kwargs.items()}} if call.kwargs else line


def observe(op, call, commutes):
    """Makes one call and returns what there is to say of it."""
    tensors = copies(call.tensors)
    table = Table()
    for t in tensors:
        table.add(t)
    line = {"a": plain(call.args)}
    if call.kwargs:
        line["k"] = {k: plain(a) for k, a in call.kwargs.items()}
    line["t"] = list(table.rows)
    inputs, before = len(tensors), [raw(s) for s in table.stores]
    rows, places = list(table.rows), [table.storage(t) for t in tensors]
    key = json.dumps([line["a"], line.get("k"), line["t"]])
    index_like = {}
    floats = any(t.dtype.is_floating_point or t.dtype.is_complex for t in tensors)
    for i, t in enumerate(tensors):
        if not t.dtype.is_floating_point and not t.dtype.is_complex and 0 < t.numel() <= 6 and (floats or call.adverse):
            index_like[str(i)] = t.tolist()
    state = torch.get_rng_state()
    try:
        result = invoke(op, call, tensors)
    except TooLong:
        return None
    except Exception as e:
        if "NVIDIA" in str(e):
            # What this machine lacks is no fact of the operator.
            return None
        line["e"] = [type(e).__name__, small_message(e)]
        if torch.utils._pytree.tree_leaves(call.tensors) and by_contents(op, call, key):
            line["by"] = "contents"
            line["v"] = index_like or {str(i): plain(t.flatten()[0].item()) for i, t in enumerate(tensors) if t.numel()}
        return line
    moved = not torch.equal(state, torch.get_rng_state())
    changed = [k for k, s in enumerate(table.stores[:len(before)]) if raw(s) != before[k]]
    after = {}
    for i, t in enumerate(tensors):
        k = table.storage(t)
        now = row(t, k, -1)
        was_storage = places[i]
        if k != was_storage or list(t.size()) != list(call.tensors[i].size()) or t.stride() != call.tensors[i].stride() or t.storage_offset() != call.tensors[i].storage_offset():
            after[str(i)] = now
    line["o"] = table.results(result)
    line["t"] = list(table.rows)
    if changed:
        line["w"] = changed
    if after:
        line["m"] = after
    if moved:
        line["d"] = 1
    equal = same_bits(result, call.tensors)
    if equal is not None:
        line["q"] = equal
    if index_like:
        line["v"] = index_like
    if commutes is not None and not moved:
        a, b = commutes
        if a < len(call.args) and b < len(call.args) and isinstance(call.args[a], Ref) and isinstance(call.args[b], Ref):
            args = list(call.args)
            args[a], args[b] = args[b], args[a]
            try:
                other_call = Call(args, call.kwargs, call.tensors)
                fresh = copies(call.tensors)
                again = invoke(op, other_call, fresh)
                first = op(*join(call.args, copies(call.tensors)), **call.kwargs) if changed else result
                line["c"] = 0 if bits(first) != bits(again) else 1 if strides_of(first) == strides_of(again) else 2
            except Exception:
                line["c"] = 0
    return line


# ---------------------------------------------------------------- variants


def laid(t, strides, offset=0):
    """The contents of `t` with these strides; along a stride of 0 the first ones."""
    sizes = list(t.size())
    if t.numel() == 0:
        return torch.empty(0, dtype=t.dtype).set_(torch.empty(offset + 1, dtype=t.dtype).untyped_storage(), offset, sizes, strides)
    n = offset + sum((s - 1) * st for s, st in zip(sizes, strides)) + 1
    buf = torch.zeros(n, dtype=t.dtype)
    out = buf.as_strided(sizes, strides, offset)
    for d, (s, st) in enumerate(zip(sizes, strides)):
        if st == 0 and s > 1:
            t = t.narrow(d, 0, 1).expand(sizes)
    to = out
    for d, (s, st) in enumerate(zip(sizes, strides)):
        if st == 0 and s > 1:
            to, t = to.narrow(d, 0, 1), t.narrow(d, 0, 1)
    to.copy_(t.resolve_conj().resolve_neg())
    return out


def permuted_strides(sizes, order):
    """`order`: dimensions, innermost first."""
    out, step = [0] * len(sizes), 1
    for d in order:
        out[d] = step
        step *= max(sizes[d], 1)
    return out


def layouts(t):
    """Names of layouts that differ for this tensor, with strides and offset."""
    n, sizes = t.dim(), list(t.size())
    base = row_strides(sizes)
    found = {"row": (base, 0), "offset": (base, 3)}
    if n >= 1:
        found["step2"] = ([2 * s for s in base], 0)
        if max(sizes) > 1:
            d = next(i for i, s in enumerate(sizes) if s > 1)
            found["expand_first"] = ([0 if i == d else s for i, s in enumerate(row_strides([1 if i == d else s for i, s in enumerate(sizes)]))], 0)
            d = max(i for i, s in enumerate(sizes) if s > 1)
            found["expand_last"] = ([0 if i == d else s for i, s in enumerate(row_strides([1 if i == d else s for i, s in enumerate(sizes)]))], 0)
            found["expand_all"] = ([0] * n, 0)
        if 1 in sizes:
            found["odd_one"] = ([9 if s == 1 else b for s, b in zip(sizes, base)], 0)
    if n >= 2:
        wide = sizes[:-1] + [sizes[-1] + 2]
        found["gap"] = (row_strides(wide), 1)
        found["reversed"] = (permuted_strides(sizes, range(n)), 0)
        found["swap_last"] = (permuted_strides(sizes, [n - 2, n - 1] + list(range(n - 3, -1, -1))), 0)
        found["reversed_step2"] = ([2 * s for s in permuted_strides(sizes, range(n))], 0)
    if n >= 3:
        found["swap_first"] = (permuted_strides(sizes, list(range(n - 1, 1, -1)) + [0, 1]), 0)
        found["last_first"] = (permuted_strides(sizes, [0] + list(range(n - 1, 0, -1))), 0)
    if n in (3, 4, 5):
        found["channels_last"] = (permuted_strides(sizes, [1] + list(range(n - 1, 1, -1)) + [0]), 0)
        found["channels_last_gap"] = ([2 * s for s in permuted_strides(sizes, [1] + list(range(n - 1, 1, -1)) + [0])], 0)
    return found


def relaid(t, kind):
    if kind == "row":
        return t.resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
    found = layouts(t)
    if kind not in found or t.numel() > MOST_ELEMENTS:
        return t
    return laid(t, *found[kind])


def cast(t, d):
    t = t.resolve_conj().resolve_neg()
    d = DT[d]
    if d == torch.bool:
        return (t != 0) if not t.dtype.is_complex else (t.real > 0)
    if t.dtype.is_complex and not d.is_complex:
        t = t.real
    if t.dtype.is_floating_point and not d.is_floating_point and not d.is_complex:
        t = t.nan_to_num(0, 3, -3).clamp(-100, 100).round()
        if d == torch.uint8:
            t = t.abs()
    return t.to(d)


def inexact(t):
    return t.dtype.is_floating_point or t.dtype.is_complex


def resized(t, m):
    """The same contents, repeated, in other sizes."""
    sizes = [m.get(n, n) for n in t.size()]
    n = math.prod(sizes)
    if n > MOST_ELEMENTS:
        raise ValueError("large")
    flat = t.flatten()
    if n and not flat.numel():
        flat = torch.zeros(1, dtype=t.dtype)
    return flat.repeat(-(-n // max(1, flat.numel())) if n else 0)[:n].reshape(sizes).clone() if n else torch.empty(sizes, dtype=t.dtype)


def mapped_ints(value, m):
    if isinstance(value, list) and value and all(type(x) is int for x in value):
        return [m.get(x, x) for x in value]
    return value


def same_layout(call, kind, which):
    return call.with_tensors([relaid(t, kind) if i in which else t for i, t in enumerate(call.tensors)])


KINDS = ["row", "step2", "gap", "reversed", "swap_last", "swap_first", "last_first", "reversed_step2", "expand_first", "expand_last", "expand_all", "offset", "odd_one",
         "channels_last", "channels_last_gap"]


def variants(call, schema, rng):
    """(priority, variant) pairs; lower priorities are made first."""
    ts = call.tensors
    n = len(ts)
    every = set(range(n))
    clean = call.with_tensors([relaid(t, "row") for t in ts])
    yield 0, call
    yield 0, clean
    for kind in KINDS:
        yield 1, same_layout(clean, kind, every)
        for i in range(min(n, 3)):
            if n > 1:
                yield 2, same_layout(clean, kind, {i})
    if n > 1:
        for _ in range(10):
            yield 2, clean.with_tensors([relaid(t, rng.choice(KINDS)) for t in clean.tensors])
        for _ in range(6):
            yield 2, clean.with_tensors([laid(t, permuted_strides(list(t.size()), rng.sample(range(t.dim()), t.dim()))) for t in clean.tensors])
    # The same tensor twice, and views that overlap.
    for i, j in itertools.permutations(range(min(n, 4)), 2):
        a, b = ts[i], ts[j]
        if a.dtype == b.dtype and a.size() == b.size():
            def merged(x, i=i, j=j):
                return Ref(i) if isinstance(x, Ref) and x.i == j else [merged(y) for y in x] if isinstance(x, list) else x
            if i < j:
                one = Call(merged(clean.args), {k: merged(a) for k, a in clean.kwargs.items()}, clean.tensors)
                yield 1, compact(one)
            if a.numel():
                s = row_strides(list(a.size()))
                buf = torch.zeros(a.numel() + 1, dtype=a.dtype)
                buf[:a.numel()] = a.flatten()
                tensors = list(clean.tensors)
                tensors[i], tensors[j] = buf.as_strided(a.size(), s, 0), buf.as_strided(a.size(), s, 1)
                yield 2, clean.with_tensors(tensors)
                tensors = list(clean.tensors)
                tensors[i], tensors[j] = buf.as_strided(a.size(), s, 0), buf.as_strided(a.size(), s, 0)
                yield 2, clean.with_tensors(tensors)
    # Dtypes.
    data = [i for i, t in enumerate(ts) if inexact(t)] or list(range(n))
    for d in EVERY:
        tensors = [cast(t, d) if i in data else t for i, t in enumerate(clean.tensors)]
        typed = clean.with_tensors(tensors)
        yield 1, typed
        for kind in ("reversed", "step2", "expand_first", "channels_last"):
            yield 3, same_layout(typed, kind, every)
    for i in range(min(n, 3)):
        for d in EVERY:
            if n > 1:
                tensors = list(clean.tensors)
                tensors[i] = cast(tensors[i], d)
                typed = clean.with_tensors(tensors)
                yield 2, typed
                yield 4, same_layout(typed, "reversed", every)
    for i, j in itertools.permutations(range(min(n, 2)), 2):
        for a, b in (("f16", "f32"), ("bf16", "f32"), ("f32", "f64"), ("i64", "f32"), ("u8", "i64"), ("b8", "i64"), ("f16", "bf16"), ("f32", "f32"), ("f16", "f16"), ("bf16", "bf16"), ("c64", "c64"), ("i64", "i64"), ("f32", "c64")):
            tensors = list(clean.tensors)
            tensors[i], tensors[j] = cast(tensors[i], a), cast(tensors[j].flatten()[:1].reshape([]), b) if tensors[j].numel() else tensors[j]
            yield 2, clean.with_tensors(tensors)
    # Sizes.
    sizes = sorted({s for t in ts for s in t.size()})[:4]
    for old, new in itertools.product(sizes, (0, 1, 2, 5)):
        if old == new:
            continue
        try:
            m = {old: new}
            tensors = [resized(t, m) for t in clean.tensors]
            other = Call([mapped_ints(a, m) for a in call.args], {k: mapped_ints(a, m) for k, a in call.kwargs.items()}, tensors)
        except ValueError:
            continue
        yield 2, other
        yield 3, same_layout(other, rng.choice(KINDS), every)
        first = clean.with_tensors([resized(t, m) if i == 0 else t for i, t in enumerate(clean.tensors)])
        yield 4, first
        if n > 1:
            yield 4, same_layout(clean.with_tensors([resized(t, m) if i == 1 else t for i, t in enumerate(clean.tensors)]), rng.choice(KINDS), every)
    if n and all(t.dim() for t in ts):
        yield 2, clean.with_tensors([t.select(0, 0).clone() if t.size(0) else t for t in clean.tensors])
    if n:
        yield 3, clean.with_tensors([t.flatten()[:1].reshape([]).clone() if t.numel() else t for t in clean.tensors])
        yield 3, clean.with_tensors([t.unsqueeze(0) for t in clean.tensors])
        yield 2, clean.with_tensors([t.flatten()[:0].reshape([0] + list(t.size())[1:]) if t.dim() else t for t in clean.tensors])
    # Broadcasting.
    if n > 1 and ts[0].size() == ts[1].size() and ts[0].dim():
        for i, kind in itertools.product((0, 1), ("row", "reversed", "step2", "swap_last")):
            for cut in ("first", "last", "drop", "all"):
                tensors = [relaid(t, kind) for t in clean.tensors]
                t = tensors[i]
                if t.numel() == 0:
                    continue
                tensors[i] = {"first": lambda: t.narrow(0, 0, 1), "last": lambda: t.narrow(-1, 0, 1), "drop": lambda: t.select(0, 0), "all": lambda: t.flatten()[:1]}[cut]()
                yield 2, clean.with_tensors(copies(tensors))
    # Arguments.
    parameters = schema.arguments
    for place, p in enumerate(parameters):
        kind, name = str(p.type), p.name
        positional = place < len(call.args)
        now = call.args[place] if positional else call.kwargs.get(name, p.default_value if p.has_default_value() else None)
        options = []
        if "bool" in kind and "List" not in kind:
            options = [True, False] + ([None] if kind.startswith("Optional") else [])
        elif kind == "float" and name in ("p", "dropout_p", "dropout", "momentum"):
            options = [0.0, 0.5, 1.0]
        elif kind in ("float", "number", "Optional[float]", "Optional[number]"):
            options = [0, 0.0, 1.0, -1.5, math.nan, math.inf, True, 2] + ([None] if kind.startswith("Optional") else [])
        elif kind in ("int", "SymInt", "Optional[int]", "Optional[SymInt]") and name in ("dtype", "layout", "device", "memory_format"):
            options = {"dtype": [torch.float32, torch.float64, torch.int64, torch.complex64, torch.float16, None], "memory_format": [torch.contiguous_format, torch.preserve_format, torch.channels_last, None]}.get(name, [])
        elif kind in ("int", "SymInt", "Optional[int]", "Optional[SymInt]"):
            options = [0, 1, 2, -1, -2, 3, 9, -9] + ([None] if kind.startswith("Optional") else [])
        elif "List[int]" in kind or "List[SymInt]" in kind:
            if isinstance(now, list) and now:
                options = [now[::-1], [0] * len(now), [1] * len(now), now[:-1] + [-1], now[:1], [], [x + 1 if type(x) is int else x for x in now]]
            else:
                options = [[0], [1], [-1], []]
            if kind.startswith("Optional"):
                options.append(None)
        elif kind == "Optional[Tensor]" and isinstance(now, Ref):
            options = [None]
        for option in options:
            if now is option or (type(now) is type(option) and now == option) or (isinstance(option, float) and math.isnan(option) and kind.startswith("Optional[int")):
                continue
            if positional:
                other = Call(call.args[:place] + [option] + call.args[place + 1:], call.kwargs, clean.tensors)
            elif p.kwarg_only or place > len(call.args):
                other = Call(call.args, {**call.kwargs, name: option}, clean.tensors)
            else:
                other = Call(call.args + [option], {k: a for k, a in call.kwargs.items() if k != name}, clean.tensors)
            other = compact(other)
            yield 1, other
            for layout in ("reversed", "channels_last", "step2", "expand_first"):
                yield 3, same_layout(other, layout, set(range(len(other.tensors))))
    # Adverse contents.
    for which in [every] + [{i} for i in range(min(n, 4)) if n > 1]:
        for x in (math.nan, math.inf, -math.inf, -1.0, 2.0, 0.0, 1e30):
            if any(inexact(clean.tensors[i]) for i in which):
                yield 2, clean.with_tensors([fill(t, x) if i in which and inexact(t) else t for i, t in enumerate(clean.tensors)], adverse=True)
        for x in (-1, 1 << 40, -(1 << 63), 1000, 0, 1):
            if any(not inexact(clean.tensors[i]) for i in which):
                yield 2, clean.with_tensors([fill(t, x) if i in which and not inexact(t) else t for i, t in enumerate(clean.tensors)], adverse=True)


def compact(call):
    """Leaves out tensors that nobody names."""
    used = []

    def look(x):
        if isinstance(x, Ref) and x.i not in used:
            used.append(x.i)
        elif isinstance(x, list):
            for y in x:
                look(y)
    look(call.args)
    look(list(call.kwargs.values()))
    if len(used) == len(call.tensors):
        return call
    used.sort()

    def renamed(x):
        return Ref(used.index(x.i)) if isinstance(x, Ref) else [renamed(y) for y in x] if isinstance(x, list) else x
    return Call(renamed(call.args), {k: renamed(a) for k, a in call.kwargs.items()}, [call.tensors[i] for i in used], call.adverse)


# ---------------------------------------------------------------- choosing


def layout_class(text):
    """What matters of a row: dtype, rank, sizes as 0, 1 or more, strides by order, gaps, offset, storage."""
    m = re.match(r"(\w+)\[([-\d,]*)\](?:\(([-\d,]*)\))?(\+\d+)?(#\d+)?(.*)", text)
    sizes = [int(x) for x in m[2].split(",") if x]
    shape = "".join("0" if s == 0 else "1" if s == 1 else "n" for s in sizes)
    if m[3] is None:
        order = "row"
    else:
        strides = [int(x) for x in m[3].split(",") if x]
        real = [(st, d) for d, (s, st) in enumerate(zip(sizes, strides)) if s > 1]
        dense, step = True, 1
        for st, d in sorted(real):
            dense, step = dense and st == step, st * sizes[d]
        order = ",".join(str(d) if st else f"{d}z" for st, d in sorted(real)) + ("" if dense else "gap")
    return m[1], shape, order, bool(m[4]), m[5] or "", m[6]


def kind_of(x):
    if isinstance(x, bool) or x is None:
        return str(x)
    if isinstance(x, int):
        return "0" if x == 0 else "-" if x < 0 else "+"
    if isinstance(x, float):
        return "f0" if x == 0 else "f1" if x == 1 else "f"
    if isinstance(x, dict):
        return str(x)
    if isinstance(x, list):
        return f"{len(x)}" + "".join(sorted({kind_of(y) for y in x}))
    return x if x.startswith("%") or len(x) < 20 else "s"


def features(line):
    rows = [layout_class(t) for t in line["t"]]
    out = {("args", tuple(kind_of(a) for a in line["a"]), tuple(sorted((k, kind_of(a)) for k, a in line.get("k", {}).items())))}
    for i, a in enumerate(line["a"]):
        out.add(("a", i, kind_of(a)))
    for i, (d, shape, order, offset, storage, flags) in enumerate(rows):
        out |= {("d", i, d), ("s", i, shape), ("l", i, order), ("o", i, offset), ("k", i, storage, flags)}
    out.add(("dtypes", tuple(x[0] for x in rows)))
    out.add(("layouts", tuple(x[2] for x in rows)))
    out.add(("shapes", tuple((x[1], x[2]) for x in rows)))
    if "e" in line:
        out |= {("e", line["e"][0], re.sub(r"[\d\W]+", " ", line["e"][1])), ("by", line.get("by", ""), line["e"][0])}
    else:
        out.add(("share", str(line["o"]), tuple(x[4] for x in rows), tuple(line.get("w", [])), tuple(sorted(line.get("m", {}))), line.get("d", 0)))
        out.add(("c", line.get("c"), tuple(x[0] for x in rows)))
        out.add(("q", str(line.get("q")), rows[0][0] if rows else ""))
    return out


# Features that decide what a registry states weigh most.
WEIGHT = {"q": 2, "share": 6, "by": 5, "shapes": 2, "layouts": 3, "e": 0.7, "c": 1.5}


def choose(lines, most, budget):
    have, size, raised = collections.Counter(), 0, 0
    picked = [i for i, x in enumerate(lines) if x.get("e", [""])[0] == "Crash"]
    rest = [(features(x), len(json.dumps(x, separators=(",", ":"))), x) for x in lines]

    def score(item):
        new = sum(WEIGHT.get(f[0], 1) / (1 + 3 * have[f]) for f in item[0])
        return new / math.sqrt(item[1]) * (0.6 if "e" in item[2] and "by" not in item[2] else 1)
    import heapq
    heap = [(-score(x), i) for i, x in enumerate(rest) if i not in picked]
    heapq.heapify(heap)
    while heap and len(picked) < most and size < budget:
        old, i = heapq.heappop(heap)
        now = -score(rest[i])
        if heap and now > heap[0][0] + 1e-12:
            heapq.heappush(heap, (now, i))
            continue
        line = rest[i][2]
        if "e" in line and "by" not in line:
            if raised >= max(3, most // 5):
                continue
            raised += 1
        have.update(rest[i][0])
        picked.append(i)
        size += rest[i][1]
    return [rest[i][2] for i in sorted(picked)]


# ---------------------------------------------------------------- one operator, all operators


def decode(sample):
    stores = [torch.frombuffer(bytearray(base64.b64decode(b)), dtype=torch.uint8).untyped_storage() if b else torch.UntypedStorage(0) for b in sample["storages"]]
    tensors = {}

    def val(x):
        if isinstance(x, list):
            return [val(y) for y in x]
        if isinstance(x, dict):
            (k, y), = x.items()
            if k == "t":
                if y not in tensors:
                    m = sample["tensors"][y]
                    t = torch.empty(0, dtype=DT[m[0]]).set_(stores[m[4]], m[3], m[1], m[2])
                    for flag in m[5:]:
                        t = torch._C._VariableFunctions._conj(t) if flag == "conj" else torch._neg_view(t)
                    tensors[y] = t
                return tensors[y]
            return {"float": lambda: float(y), "complex": lambda: complex(val(y[0]), val(y[1])), "dtype": lambda: DT[y], "device": lambda: torch.device(y),
                    "layout": lambda: torch.strided, "memory_format": lambda: next(f for f, n in MF.items() if n == y)}[k]()
        return x
    return val(sample["args"]), {k: val(x) for k, x in sample["kwargs"].items()}


def bases(name, op, golden):
    out = []
    for text in guessed(name, op._schema):
        args, kwargs = eval(f"_args({text})", {"_args": lambda *a, **k: (a, k), "r": r, "v": v, "torch": torch})
        out.append(Call.of(args, kwargs))
    samples, errors = [], []
    for s in golden.get(name, []):
        try:
            call = Call.of(*decode(s))
        except Exception:
            continue
        (errors if "error" in s else samples).append((s, call))
    # Samples that look different first, so that the varied ones are.
    seen, first, later = set(), [], []
    for s, call in sorted(samples, key=lambda x: -min(3, max([t.dim() for t in x[1].tensors] or [0]))):
        key = (tuple(t.dim() for t in call.tensors), tuple(inexact(t) for t in call.tensors), len(call.args), tuple(call.kwargs))
        (later if key in seen or any(t.numel() == 0 for t in call.tensors) else first).append(call)
        seen.add(key)
    return out + first + later, [c for _, c in errors]


def run_operator(name, op, golden, out, options, begin, crashes, note):
    rng = random.Random(name)
    commutes = None
    tensors = [i for i, a in enumerate(op._schema.arguments) if str(a.type) == "Tensor"]
    if len(tensors) >= 2 and not op._schema.is_mutable:
        commutes = (tensors[0], tensors[1])
    calls, errors = bases(name, op, golden)
    own = len(guessed(name, op._schema))
    plan = []
    for k, call in enumerate(calls):
        if k < options.bases + own:
            try:
                for priority, x in variants(call, op._schema, rng):
                    plan.append((priority + (1 if k >= 4 + own else 0), x))
            except Exception as e:
                print(name, "variants", type(e).__name__, e, file=sys.stderr)
                if options.show:
                    raise
        else:
            plan.append((0, call))
    plan += [(0, c) for c in errors]
    rng.shuffle(plan)
    plan.sort(key=lambda x: x[0])
    # What ended the process that tried it is a fact too.
    ended = [described(plan[k][1]) | {"e": ["Crash", "the process ended"]} for k in sorted(begin) if 0 <= k < len(plan)]
    # An operator that checks nothing is left alone after some crashes.
    plan = plan[:options.calls if len(crashes) < 5 else 12]
    seen, lines, made, adverse, raised = set(), [], 0, 0, 0
    started = time.time()
    for k, (_, call) in enumerate(plan):
        if k in begin:
            continue
        if time.time() - started > options.seconds:
            break
        note(k)
        try:
            line = observe(op, call, commutes)
        except (ValueError, OverflowError) as e:
            continue
        if line is None:
            continue
        made += 1
        adverse += call.adverse
        raised += line.get("by") == "contents"
        text = json.dumps(line, separators=(",", ":"))
        if text not in seen:
            seen.add(text)
            lines.append(line)
    note(-1)
    lines = choose(lines + ended, options.lines, options.bytes)
    head = {"op": name, "calls": made, "adverse": adverse, "raised_by_contents": raised}
    out.write(json.dumps(head, separators=(",", ":")) + "\n")
    for line in lines:
        out.write(json.dumps(line, separators=(",", ":")) + "\n")


def overloads():
    """(target, overload) of every line of the tables that PyTorch has; and those that it has not."""
    found, missing = [], []
    for table in ("aten", "prims"):
        for line in (ROOT / "src/ops/schemas" / f"{table}.txt").read_text().splitlines():
            m = re.match(r"(\w+)::(\w+)(?:\.(\w+))?\(", line)
            if not m:
                continue
            ns, name, overload = m[1], m[2], m[3] or "default"
            target = f"{ns}.{name}.{overload}"
            try:
                found.append((target, getattr(getattr(getattr(torch.ops, ns), name), overload)))
            except (AttributeError, RuntimeError):
                missing.append(target)
    return found, missing


def isolated(name, op, golden, path, options):
    """Records one operator in a child; a call that ends the process is left out of the next try, and is itself a fact."""
    begin, crashes = set(), []
    for _ in range(8):
        page = __import__("mmap").mmap(-1, 8)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

                def late(*_):
                    raise TooLong()
                signal.signal(signal.SIGALRM, late)

                def note(k):
                    page[0:8] = k.to_bytes(8, "little", signed=True)
                with open(path, "w") as out:
                    run_operator(name, op, golden, out, options, begin, crashes, note)
                code = 0
            except BaseException as e:
                print(name, type(e).__name__, e, file=sys.stderr)
                if options.show:
                    import traceback
                    traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            return
        at = int.from_bytes(page[0:8], "little", signed=True)
        print(f"{name}: call {at} ended with signal {os.WTERMSIG(status)}", file=sys.stderr)
        begin.add(at)
        crashes.append(os.WTERMSIG(status))


def choose_of(options):
    """Writes the lines that say most of those that a wide recording has."""
    for file in sorted(pathlib.Path(options.of).glob("*.facts")):
        heads = []
        for line in map(json.loads, file.read_text().splitlines()):
            if "op" in line:
                heads.append((line, []))
            else:
                heads[-1][1].append(line)
        with open(pathlib.Path(options.out) / file.name, "w") as out:
            for head, lines in heads:
                for line in [head] + choose(lines, options.lines, options.bytes):
                    out.write(json.dumps(line, separators=(",", ":")) + "\n")
        print(f"{file.name}: {len(heads)} overloads")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--golden", default=str(ROOT / "tests/golden"), help="folder of recorded samples to begin with")
    p.add_argument("--out", default=str(ROOT / "tests/facts"))
    p.add_argument("--wide", metavar="DIR", help="write many more lines there instead")
    p.add_argument("--of", metavar="DIR", help="choose from the lines of a wide recording; nothing is called")
    p.add_argument("--only", nargs="*", default=[], help="beginnings of names")
    p.add_argument("--show", action="store_true", help="write to the screen")
    p.add_argument("--bases", type=int, default=8, help="recorded samples of an operator that are varied")
    p.add_argument("--calls", type=int, default=900, help="calls of an operator at most")
    p.add_argument("--seconds", type=float, default=20.0, help="time for an operator at most")
    p.add_argument("--lines", type=int, default=40, help="lines kept of an operator")
    p.add_argument("--bytes", type=int, default=5600, help="bytes kept of an operator")
    p.add_argument("--jobs", type=int, default=2)
    options = p.parse_args()
    if options.wide:
        options.out, options.lines, options.bytes = options.wide, options.lines * 6, options.bytes * 8
    if options.of:
        return choose_of(options)
    golden = collections.defaultdict(list)
    for file in sorted(pathlib.Path(options.golden).glob("*.gold")):
        for line in file.read_text().splitlines():
            s = json.loads(line)
            golden[s["op"]].append(s)
    found, missing = overloads()
    # What PyTorch loads at the first call of a kind it should load here, not in each child.
    torch.ops.prims.add.default(torch.ones(2), torch.ones(2))
    found = [(n, op) for n, op in found if n not in SKIPPED and (not options.only or n.startswith(tuple(options.only)))]
    parts = pathlib.Path(options.out) / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    started = time.time()
    workers = []
    for w in range(options.jobs):
        child = os.fork()
        if child == 0:
            for k in range(w, len(found), options.jobs):
                name, op = found[k]
                isolated(name, op, golden, parts / name, options)
                if k % 100 < options.jobs:
                    print(f"{k}/{len(found)} {time.time() - started:.0f} s", file=sys.stderr, flush=True)
            os._exit(0)
        workers.append(child)
    for child in workers:
        os.waitpid(child, 0)
    if options.show:
        for name, _ in found:
            print((parts / name).read_text())
    calls = lines = 0
    for ns in ("aten", "prims"):
        with open(pathlib.Path(options.out) / f"{ns}.facts", "w") as out:
            for name, _ in found:
                file = parts / name
                if not name.startswith(ns + ".") or not file.exists():
                    continue
                text = file.read_text()
                rows = text.splitlines()
                if len(rows) > 1:
                    out.write(text)
                    calls += json.loads(rows[0])["calls"]
                    lines += len(rows) - 1
                else:
                    missing.append(name)
                file.unlink()
    parts.rmdir()
    print(f"PyTorch {torch.__version__}: {calls} calls of {len(found)} overloads, {lines} lines kept, {time.time() - started:.0f} s")
    print("without a call:", " ".join(sorted(set(missing))))


if __name__ == "__main__":
    main()
