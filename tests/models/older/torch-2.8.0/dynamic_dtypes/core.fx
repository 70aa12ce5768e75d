ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, p_weight: "f32[4, 3]", p_tied: "f32[4, 3]", p_frozen: "f32[3]", b_left: "f32[4, 4]", b_right: "f32[4]", b_one: "f32[3]", b_f16: "f16[3]", b_bf16: "bf16[3]", b_f64: "f64[]", b_i8: "i8[3]", b_i16: "i16[3]", b_i32: "i32[3]", b_i64: "i64[3]", b_u8: "u8[3]", b_c64: "c64[3]", b_c128: "c128[3]", b_empty: "f32[0, 3]", b_mask: "b8[3]", x: "f32[s77, 4]", y: "f32[s17, 2]"):
             # 
            sym_size_int_5: "Sym(s17)" = torch.ops.aten.sym_size.int(y, 0)
            
             # File: make_older.py:43 in forward, code: z = (x @ self.left + self.right) @ self.weight + self.frozen * self.one
            mm: "f32[s77, 4]" = torch.ops.aten.mm.default(x, b_left);  b_left = None
            add_3: "f32[s77, 4]" = torch.ops.aten.add.Tensor(mm, b_right);  mm = b_right = None
            mm_1: "f32[s77, 3]" = torch.ops.aten.mm.default(add_3, p_tied);  add_3 = None
            mul_6: "f32[3]" = torch.ops.aten.mul.Tensor(p_frozen, b_one);  p_frozen = b_one = None
            add_10: "f32[s77, 3]" = torch.ops.aten.add.Tensor(mm_1, mul_6);  mm_1 = mul_6 = None
            
             # File: make_older.py:44 in forward, code: z = z.masked_fill(self.mask, float("-inf")).clamp(max=float("inf"))
            scalar_tensor: "f32[]" = torch.ops.aten.scalar_tensor.default(-inf, dtype = torch.float32, layout = torch.strided, device = device(type='cpu'))
            where: "f32[s77, 3]" = torch.ops.aten.where.self(b_mask, scalar_tensor, add_10);  b_mask = scalar_tensor = add_10 = None
            clamp: "f32[s77, 3]" = torch.ops.aten.clamp.default(where, None, inf);  where = None
            
             # File: make_older.py:45 in forward, code: small = self.f16 + self.bf16 + self.i8 + self.i16 + self.i32 + self.i64 + self.u8 + self.f64
            add_20: "f32[3]" = torch.ops.aten.add.Tensor(b_f16, b_bf16);  b_f16 = b_bf16 = None
            add_21: "f32[3]" = torch.ops.aten.add.Tensor(add_20, b_i8);  add_20 = b_i8 = None
            add_22: "f32[3]" = torch.ops.aten.add.Tensor(add_21, b_i16);  add_21 = b_i16 = None
            add_23: "f32[3]" = torch.ops.aten.add.Tensor(add_22, b_i32);  add_22 = b_i32 = None
            add_24: "f32[3]" = torch.ops.aten.add.Tensor(add_23, b_i64);  add_23 = b_i64 = None
            add_25: "f32[3]" = torch.ops.aten.add.Tensor(add_24, b_u8);  add_24 = b_u8 = None
            add_26: "f32[3]" = torch.ops.aten.add.Tensor(add_25, b_f64);  add_25 = b_f64 = None
            
             # File: make_older.py:46 in forward, code: return torch.cat([z, z]), y.flatten() * 2, small, (self.c64 + self.c128).abs(), self.empty * 2, x @ self.tied
            cat: "f32[2*s77, 3]" = torch.ops.aten.cat.default([clamp, clamp]);  clamp = None
            mul_16: "Sym(2*s17)" = sym_size_int_5 * 2;  sym_size_int_5 = None
            view: "f32[2*s17]" = torch.ops.aten.view.default(y, [mul_16]);  y = mul_16 = None
            mul_20: "f32[2*s17]" = torch.ops.aten.mul.Tensor(view, 2);  view = None
            add_34: "c128[3]" = torch.ops.aten.add.Tensor(b_c64, b_c128);  b_c64 = b_c128 = None
            abs_1: "f64[3]" = torch.ops.aten.abs.default(add_34);  add_34 = None
            mul_22: "f32[0, 3]" = torch.ops.aten.mul.Tensor(b_empty, 2);  b_empty = None
            mm_2: "f32[s77, 3]" = torch.ops.aten.mm.default(x, p_tied);  x = p_tied = None
            return (cat, mul_20, add_26, abs_1, mul_22, mm_2)
            
Graph signature: 
    # inputs
    p_weight: PARAMETER target='weight'
    p_tied: PARAMETER target='tied'
    p_frozen: PARAMETER target='frozen'
    b_left: BUFFER target='left' persistent=True
    b_right: BUFFER target='right' persistent=True
    b_one: BUFFER target='one' persistent=True
    b_f16: BUFFER target='f16' persistent=True
    b_bf16: BUFFER target='bf16' persistent=True
    b_f64: BUFFER target='f64' persistent=True
    b_i8: BUFFER target='i8' persistent=True
    b_i16: BUFFER target='i16' persistent=True
    b_i32: BUFFER target='i32' persistent=True
    b_i64: BUFFER target='i64' persistent=True
    b_u8: BUFFER target='u8' persistent=False
    b_c64: BUFFER target='c64' persistent=True
    b_c128: BUFFER target='c128' persistent=False
    b_empty: BUFFER target='empty' persistent=True
    b_mask: BUFFER target='mask' persistent=True
    x: USER_INPUT
    y: USER_INPUT
    
    # outputs
    cat: USER_OUTPUT
    mul_20: USER_OUTPUT
    add_26: USER_OUTPUT
    abs_1: USER_OUTPUT
    mul_22: USER_OUTPUT
    mm_2: USER_OUTPUT
    
Range constraints: {s77: VR[0, int_oo], s17: VR[2, 64]}

