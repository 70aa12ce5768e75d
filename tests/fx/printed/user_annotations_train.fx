ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[5, 3]"):
            # File: model.py:31 in forward, code: y=x+1
            add: "f32[5, 3]" = torch.ops.aten.add.Tensor(x, 1)
    
            # File: model.py:33 in forward, code: y=y*2; y.mul_(3)
            mul: "f32[5, 3]" = torch.ops.aten.mul.Tensor(add, 2);  add = None
            mul_: "f32[5, 3]" = torch.ops.aten.mul_.Tensor(mul, 3);  mul = None
    
            # File: model.py:34 in forward, code: return y.sum(), x.std(dim=(0,),correction=0), torch.full((2,),1+2j), torch.linspace(0,1,3,dtype=torch.float8_e5m2 if 0 else torch.float16)
            sum_1: "f32[]" = torch.ops.aten.sum.default(mul_);  mul_ = None
            std: "f32[3]" = torch.ops.aten.std.correction(x, [0], correction = 0);  x = None
            full: "c64[2]" = torch.ops.aten.full.default([2], (1+2j), device = device(type='cpu'), pin_memory = False)
            linspace: "f16[3]" = torch.ops.aten.linspace.default(0, 1, 3, dtype = torch.float16, device = device(type='cpu'), pin_memory = False)
            return (sum_1, std, full, linspace)
    
Graph signature:
    # inputs
    x: USER_INPUT
    
    # outputs
    sum_1: USER_OUTPUT
    std: USER_OUTPUT
    full: USER_OUTPUT
    linspace: USER_OUTPUT
    
Range constraints: {}

