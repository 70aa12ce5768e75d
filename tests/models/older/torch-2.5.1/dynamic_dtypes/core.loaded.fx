ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, p_weight: "f32[4, 3]", p_frozen: "f32[3]", b_left: "f32[4, 4]", b_right: "f32[4]", b_one: "f32[3]", b_mask: "b8[3]", b_f16: "f16[3]", b_bf16: "bf16[3]", b_i8: "i8[3]", b_i16: "i16[3]", b_i32: "i32[3]", b_i64: "i64[3]", b_u8: "u8[3]", b_f64: "f64[]", b_c64: "c64[3]", b_c128: "c128[3]", b_empty: "f32[0, 3]", x: "f32[s0, 4]", y: "f32[s1, 2]"):
             # 
            sym_size_int_4: "Sym(s1)" = torch.ops.aten.sym_size.int(y, 0)
            
             # File: make_older.py:43 in forward, code: z = (x @ self.left + self.right) @ self.weight + self.frozen * self.one
            mm: "f32[s0, 4]" = torch.ops.aten.mm.default(x, b_left);  b_left = None
            add_3: "f32[s0, 4]" = torch.ops.aten.add.Tensor(mm, b_right);  mm = b_right = None
            mm_1: "f32[s0, 3]" = torch.ops.aten.mm.default(add_3, p_weight);  add_3 = None
            mul_6: "f32[3]" = torch.ops.aten.mul.Tensor(p_frozen, b_one);  p_frozen = b_one = None
            add_10: "f32[s0, 3]" = torch.ops.aten.add.Tensor(mm_1, mul_6);  mm_1 = mul_6 = None
            
             # File: make_older.py:44 in forward, code: z = z.masked_fill(self.mask, float("-inf")).clamp(max=float("inf"))
            scalar_tensor: "f32[]" = torch.ops.aten.scalar_tensor.default(-inf, dtype = torch.float32, layout = torch.strided, device = device(type='cpu'))
            where: "f32[s0, 3]" = torch.ops.aten.where.self(b_mask, scalar_tensor, add_10);  b_mask = scalar_tensor = add_10 = None
            clamp: "f32[s0, 3]" = torch.ops.aten.clamp.default(where, min = None, max = inf);  where = None
            
             # File: make_older.py:45 in forward, code: small = self.f16 + self.bf16 + self.i8 + self.i16 + self.i32 + self.i64 + self.u8 + self.f64
            add_20: "f32[3]" = torch.ops.aten.add.Tensor(b_f16, b_bf16);  b_f16 = b_bf16 = None
            add_21: "f32[3]" = torch.ops.aten.add.Tensor(add_20, b_i8);  add_20 = b_i8 = None
            add_22: "f32[3]" = torch.ops.aten.add.Tensor(add_21, b_i16);  add_21 = b_i16 = None
            add_23: "f32[3]" = torch.ops.aten.add.Tensor(add_22, b_i32);  add_22 = b_i32 = None
            add_24: "f32[3]" = torch.ops.aten.add.Tensor(add_23, b_i64);  add_23 = b_i64 = None
            add_25: "f32[3]" = torch.ops.aten.add.Tensor(add_24, b_u8);  add_24 = b_u8 = None
            add_26: "f32[3]" = torch.ops.aten.add.Tensor(add_25, b_f64);  add_25 = b_f64 = None
            
             # File: make_older.py:46 in forward, code: return torch.cat([z, z]), y.flatten() * 2, small, (self.c64 + self.c128).abs(), self.empty * 2, x @ self.tied
            cat: "f32[2*s0, 3]" = torch.ops.aten.cat.default([clamp, clamp]);  clamp = None
            mul_15: "Sym(2*s1)" = sym_size_int_4 * 2;  sym_size_int_4 = None
            view: "f32[2*s1]" = torch.ops.aten.view.default(y, [mul_15]);  y = mul_15 = None
            mul_17: "f32[2*s1]" = torch.ops.aten.mul.Tensor(view, 2);  view = None
            add_34: "c128[3]" = torch.ops.aten.add.Tensor(b_c64, b_c128);  b_c64 = b_c128 = None
            abs_1: "f64[3]" = torch.ops.aten.abs.default(add_34);  add_34 = None
            mul_19: "f32[0, 3]" = torch.ops.aten.mul.Tensor(b_empty, 2);  b_empty = None
            mm_2: "f32[s0, 3]" = torch.ops.aten.mm.default(x, p_weight);  x = p_weight = None
            return (cat, mul_17, add_26, abs_1, mul_19, mm_2)
            
Graph signature: ExportGraphSignature(input_specs=[InputSpec(kind=<InputKind.PARAMETER: 2>, arg=TensorArgument(name='p_weight'), target='tied', persistent=None), InputSpec(kind=<InputKind.PARAMETER: 2>, arg=TensorArgument(name='p_frozen'), target='frozen', persistent=None), InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_left'), target='left', persistent=True), InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_right'), target='right', persistent=True), InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_one'), target='one', persistent=True), InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_mask'), target='mask', persistent=True), InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_f16'), target='f16', persistent=True), InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_bf16'), target='bf16', persistent=True), InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_i8'), target='i8', persistent=True), InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_i16'), target='i16', persistent=True), InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_i32'), target='i32', persistent=True), InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_i64'), target='i64', persistent=True), InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_u8'), target='u8', persistent=False), InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_f64'), target='f64', persistent=True), InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_c64'), target='c64', persistent=True), InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_c128'), target='c128', persistent=False), InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_empty'), target='empty', persistent=True), InputSpec(kind=<InputKind.USER_INPUT: 1>, arg=TensorArgument(name='x'), target=None, persistent=None), InputSpec(kind=<InputKind.USER_INPUT: 1>, arg=TensorArgument(name='y'), target=None, persistent=None)], output_specs=[OutputSpec(kind=<OutputKind.USER_OUTPUT: 1>, arg=TensorArgument(name='cat'), target=None), OutputSpec(kind=<OutputKind.USER_OUTPUT: 1>, arg=TensorArgument(name='mul_17'), target=None), OutputSpec(kind=<OutputKind.USER_OUTPUT: 1>, arg=TensorArgument(name='add_26'), target=None), OutputSpec(kind=<OutputKind.USER_OUTPUT: 1>, arg=TensorArgument(name='abs_1'), target=None), OutputSpec(kind=<OutputKind.USER_OUTPUT: 1>, arg=TensorArgument(name='mul_19'), target=None), OutputSpec(kind=<OutputKind.USER_OUTPUT: 1>, arg=TensorArgument(name='mm_2'), target=None)])
Range constraints: {s0: VR[0, int_oo], s1: VR[2, 64]}

