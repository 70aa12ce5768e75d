ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s17, 3]", y: "f32[s17, 3]", k, flag):
            # No stacktrace found for following nodes
            sym_size_int_4: "Sym(s17)" = torch.ops.aten.sym_size.int(y, 0)
    
            # File: model.py:13 in forward, code: z=torch.cat([x,y])
            cat: "f32[2*s17, 3]" = torch.ops.aten.cat.default([x, y]);  x = None
    
            # File: model.py:14 in forward, code: if flag: z=z*k
            mul: "f32[2*s17, 3]" = torch.ops.aten.mul.Tensor(cat, 0.5);  cat = None
    
            # File: model.py:15 in forward, code: a=torch.arange(n)*(n//2+1)
            arange: "i64[s17]" = torch.ops.aten.arange.start_step(0, sym_size_int_4, layout = torch.strided, device = device(type='cpu'), pin_memory = False)
            floordiv: "Sym((s17//2))" = sym_size_int_4 // 2
            add: "Sym(((s17//2)) + 1)" = floordiv + 1;  floordiv = None
            mul_1: "i64[s17]" = torch.ops.aten.mul.Tensor(arange, add);  arange = add = None
    
            # File: model.py:16 in forward, code: w=torch.nonzero(y)
            nonzero: "i64[u0, 2]" = torch.ops.aten.nonzero.default(y)
            sym_size_int_5: "Sym(u0)" = torch.ops.aten.sym_size.int(nonzero, 0)
            ge_2: "Sym(u0 >= 3)" = sym_size_int_5 >= 3
            _assert_scalar_default = torch.ops.aten._assert_scalar.default(ge_2, "Runtime assertion failed for expression u0 >= 3 on node 'ge_2'");  ge_2 = _assert_scalar_default = None
            le_3: "Sym(u0 <= 150)" = sym_size_int_5 <= 150
            _assert_scalar_default_1 = torch.ops.aten._assert_scalar.default(le_3, "Runtime assertion failed for expression u0 <= 150 on node 'le_3'");  le_3 = _assert_scalar_default_1 = None
            gt_1: "Sym(u0 > 2)" = sym_size_int_5 > 2
            _assert_scalar_default_2 = torch.ops.aten._assert_scalar.default(gt_1, "Runtime assertion failed for expression 2 < u0 on node 'gt_1'");  gt_1 = _assert_scalar_default_2 = None
            gt: "Sym(u0 > 2)" = sym_size_int_5 > 2;  sym_size_int_5 = None
            _assert_scalar_2 = torch.ops.aten._assert_scalar.default(gt, "Runtime assertion failed for expression 2 < u0 on node 'gt_1'");  gt = _assert_scalar_2 = None
    
            # File: model.py:18 in forward, code: i=y.sum().to(torch.int64).item()
            sum_1: "f32[]" = torch.ops.aten.sum.dim_IntList(y, []);  y = None
            _assert_tensor_metadata = torch.ops.aten._assert_tensor_metadata.default(sum_1, None, None, torch.float32, device = device(type='cpu'), layout = torch.strided);  _assert_tensor_metadata = None
            _to_copy: "i64[]" = torch.ops.aten._to_copy.default(sum_1, dtype = torch.int64);  sum_1 = None
            _local_scalar_dense: "Sym(u1)" = torch.ops.aten._local_scalar_dense.default(_to_copy);  _to_copy = None
            ge_3: "Sym(u1 >= 0)" = _local_scalar_dense >= 0
            _assert_scalar_default_3 = torch.ops.aten._assert_scalar.default(ge_3, "Runtime assertion failed for expression u1 >= 0 on node 'ge_3'");  ge_3 = _assert_scalar_default_3 = None
            le_4: "Sym(u1 <= 99)" = _local_scalar_dense <= 99
            _assert_scalar_default_4 = torch.ops.aten._assert_scalar.default(le_4, "Runtime assertion failed for expression u1 <= 99 on node 'le_4'");  le_4 = _assert_scalar_default_4 = None
            lt_1: "Sym(u1 < 100)" = _local_scalar_dense < 100
            _assert_scalar_default_5 = torch.ops.aten._assert_scalar.default(lt_1, "Runtime assertion failed for expression u1 < 100 on node 'lt_1'");  lt_1 = _assert_scalar_default_5 = None
    
            # File: model.py:20 in forward, code: f=torch.sym_float(n)*0.3
            sym_float: "Sym(ToFloat(s17))" = torch.sym_float(sym_size_int_4)
            mul_2: "Sym(0.3*ToFloat(s17))" = sym_float * 0.3;  sym_float = None
    
            # File: model.py:21 in forward, code: return {'z':z,'a':a,'n':n*2,'m':torch.sym_max(n,3),'t':(w, i+n, None,'s',3.5)}, x.new_ones(i) * x.shape[0], z*(n%3)*f, z.view(-1).shape[0]//3, (n*(n+1))//2 - y.shape[0]
            mul_3: "Sym(2*s17)" = sym_size_int_4 * 2
            sym_max: "Sym(Max(3, s17))" = torch.sym_max(sym_size_int_4, 3)
            add_1: "Sym(s17 + u1)" = _local_scalar_dense + sym_size_int_4
            full: "f32[u1]" = torch.ops.aten.full.default([_local_scalar_dense], 1, dtype = torch.float32, layout = torch.strided, device = device(type='cpu'), pin_memory = False);  _local_scalar_dense = None
            mul_4: "f32[u1]" = torch.ops.aten.mul.Tensor(full, sym_size_int_4);  full = None
            mod: "Sym(Mod(s17, 3))" = sym_size_int_4 % 3
            mul_5: "f32[2*s17, 3]" = torch.ops.aten.mul.Tensor(mul, mod);  mod = None
            mul_6: "f32[2*s17, 3]" = torch.ops.aten.mul.Tensor(mul_5, mul_2);  mul_5 = mul_2 = None
            add_2: "Sym(s17 + 1)" = sym_size_int_4 + 1
            mul_8: "Sym(s17*(s17 + 1))" = sym_size_int_4 * add_2;  add_2 = None
            floordiv_1: "Sym(((s17*(s17 + 1))//2))" = mul_8 // 2;  mul_8 = None
            sub: "Sym(-s17 + (((s17*(s17 + 1))//2)))" = floordiv_1 - sym_size_int_4;  floordiv_1 = sym_size_int_4 = None
            return (mul, mul_1, mul_3, sym_max, nonzero, add_1, None, 's', 3.5, mul_4, mul_6, mul_3, sub)
    
Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT
    k: USER_INPUT
    flag: USER_INPUT
    
    # outputs
    mul: USER_OUTPUT
    mul_1: USER_OUTPUT
    mul_3: USER_OUTPUT
    sym_max: USER_OUTPUT
    nonzero: USER_OUTPUT
    add_1: USER_OUTPUT
    : USER_OUTPUT
    : USER_OUTPUT
    : USER_OUTPUT
    mul_4: USER_OUTPUT
    mul_6: USER_OUTPUT
    mul_3: USER_OUTPUT
    sub: USER_OUTPUT
    
Range constraints: {u0: VR[3, 150], u1: VR[0, 99], s17: VR[2, 50]}

