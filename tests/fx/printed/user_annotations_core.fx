ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[5, 3]"):
            # File: model.py:31 in forward, code: y=x+1
            add: "f32[5, 3]" = torch.ops.aten.add.Tensor(x, 1)
    
            # File: model.py:33 in forward, code: y=y*2; y.mul_(3)
            mul: "f32[5, 3]" = torch.ops.aten.mul.Tensor(add, 2);  add = None
            mul_1: "f32[5, 3]" = torch.ops.aten.mul.Tensor(mul, 3);  mul = None
    
            # File: model.py:34 in forward, code: return y.sum(), x.std(dim=(0,),correction=0), torch.full((2,),1+2j), torch.linspace(0,1,3,dtype=torch.float8_e5m2 if 0 else torch.float16)
            sum_1: "f32[]" = torch.ops.aten.sum.dim_IntList(mul_1, []);  mul_1 = None
            var: "f32[3]" = torch.ops.aten.var.correction(x, [0], correction = 0.0);  x = None
            sqrt: "f32[3]" = torch.ops.aten.sqrt.default(var);  var = None
            full: "c64[2]" = torch.ops.aten.full.default([2], (1+2j), device = device(type='cpu'), pin_memory = False)
            arange: "i64[3]" = torch.ops.aten.arange.start_step(0, 3, layout = torch.strided, device = device(type='cpu'), pin_memory = False)
            lt: "b8[3]" = torch.ops.aten.lt.Scalar(arange, 1.5)
            _to_copy: "f32[3]" = torch.ops.aten._to_copy.default(arange, dtype = torch.float32)
            mul_2: "f32[3]" = torch.ops.aten.mul.Tensor(_to_copy, 0.5);  _to_copy = None
            add_1: "f32[3]" = torch.ops.aten.add.Tensor(mul_2, 0);  mul_2 = None
            sub: "i64[3]" = torch.ops.aten.sub.Tensor(2, arange);  arange = None
            _to_copy_1: "f32[3]" = torch.ops.aten._to_copy.default(sub, dtype = torch.float32);  sub = None
            mul_3: "f32[3]" = torch.ops.aten.mul.Tensor(_to_copy_1, 0.5);  _to_copy_1 = None
            sub_1: "f32[3]" = torch.ops.aten.sub.Tensor(1, mul_3);  mul_3 = None
            where: "f32[3]" = torch.ops.aten.where.self(lt, add_1, sub_1);  lt = add_1 = sub_1 = None
            _to_copy_2: "f16[3]" = torch.ops.aten._to_copy.default(where, dtype = torch.float16);  where = None
            return (sum_1, sqrt, full, _to_copy_2)
    
Graph signature:
    # inputs
    x: USER_INPUT
    
    # outputs
    sum_1: USER_OUTPUT
    sqrt: USER_OUTPUT
    full: USER_OUTPUT
    _to_copy_2: USER_OUTPUT
    
Range constraints: {}

