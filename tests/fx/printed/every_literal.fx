class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[2, 3]", input: "f32[2, 3]", z = None):
        input_1 = input

        # No stacktrace found for following nodes
        full_default = torch.ops.aten.full.default([2], (1+2j));  full_default = None
        full_default_1 = torch.ops.aten.full.default([2], complex(0.0, 2.0));  full_default_1 = None
        full_default_2 = torch.ops.aten.full.default([2], (1.5-2e+20j));  full_default_2 = None
        full_default_3 = torch.ops.aten.full.default([2], complex(nan, -0.0));  full_default_3 = None
        full_default_4 = torch.ops.aten.full.default([2], 1e+16);  full_default_4 = None
        full_default_5 = torch.ops.aten.full.default([2], 1.2345678901234568e+17);  full_default_5 = None
        full_default_6 = torch.ops.aten.full.default([2], 1e+22);  full_default_6 = None
        full_default_7 = torch.ops.aten.full.default([2], 5e-324);  full_default_7 = None
        full_default_8 = torch.ops.aten.full.default([2], -0.0);  full_default_8 = None
        full_default_9 = torch.ops.aten.full.default((2,), -5, dtype = torch.bfloat16, layout = torch.strided, device = device(type='cuda', index=1), memory_format = torch.channels_last);  full_default_9 = None
        _assert_scalar_default = torch.ops.aten._assert_scalar.default(True, 'it\'s "q" \n\t\x07 \u200b é \\');  _assert_scalar_default = None
        _assert_scalar_default_1 = torch.ops.aten._assert_scalar.default(True, "it's");  _assert_scalar_default_1 = None

        # Annotation: {'stage': 1, 'nm': "it's", 'long': 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...', 'l': [1, 2.5, None]} File: c d, in.py:7 in <lambda>, code: return x + y  # File: "q"
        add_tensor: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, {'a': [1, (2,)], 'b"': x})

        # No stacktrace found for following nodes
        neg = -add_tensor;  add_tensor = neg = None
        getitem = x[(slice(None, 2, None), 0)]
        trunc = math_trunc(getitem);  getitem = None
        sym_max = torch.sym_max(trunc, 3);  trunc = None
        pow_1 = 2 ** sym_max;  sym_max = None
        invert = ~pow_1;  pow_1 = None
        round_1 = round(invert);  invert = None
        truediv = round_1 / -5
        sym_ite = torch.sym_ite(round_1, truediv, 3);  truediv = None
        cond = torch.ops.higher_order.cond(round_1, torch.ops.aten.add.Tensor, torch.per_tensor_affine, torch.sparse_coo, range(0, 3), []);  round_1 = cond = None
        sub = self.sub;  sub = None
        sub_0_w = getattr(self.sub, "0").w;  sub_0_w = None
        return (sym_ite, [x, {'k': input_1}], 1.5, None)

    class sub(torch.nn.Module):
        def forward(self, a):
            return a

        class inner(torch.nn.Module):
            def forward(self, b):
                return (b,)
