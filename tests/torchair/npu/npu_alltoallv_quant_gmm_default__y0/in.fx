class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "u8[16, 32]", arg1_1: "u8[2, 32, 64]", arg2_1: "f32[1]", arg3_1: "f32[1]"):
        r = torch.ops.npu.npu_alltoallv_quant_gmm.default(arg0_1, arg1_1, arg2_1, arg3_1, 'g', 2, [4, 4, 4, 4], [0], 5, gmm_x_quant_mode = 1, gmm_weight_quant_mode = 1, gmm_x_dtype = 290, gmm_weight_dtype = 290)
        r_0: "f16[0, 64]" = r[0]
        return (r_0,)
