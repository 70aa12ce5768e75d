class GraphModule(torch.nn.Module):
    def forward(self, x: "i32[4, 32]", w: "f32[32]", a: "f32[4, 1]", q: "f32[1, 16]"):
        d = torch.ops.npu.npu_dequant_swiglu_quant.default(x, weight_scale = w, activation_scale = a, quant_scale = q, activate_left = True, quant_mode = 1)
        g: "i8[4, 16]" = d[0]
        return (g,)
