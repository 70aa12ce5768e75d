class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f16[4, 192]", arg1_1: "f16[4, 32]", arg2_1: "f16[4, 32]", arg3_1: "i8[4, 16, 2, 32]", arg4_1: "i8[4, 16, 2, 32]", arg5_1: "i32[4]", arg6_1: "f32[2, 32]", arg7_1: "f32[2, 32]", arg8_1: "f32[2, 32]", arg9_1: "f32[2, 32]"):
        r = torch.ops.npu.npu_rope_quant_kvcache.default(arg0_1, arg1_1, arg2_1, arg3_1, arg4_1, arg5_1, arg6_1, arg7_1, [64, 64, 64], offset_k = arg8_1, offset_v = arg9_1, kv_output = True, cache_mode = 'page')
        r_0: "f16[4, 2, 32]" = r[0]
        r_1: "f16[4, 2, 32]" = r[1]
        r_2: "f16[4, 2, 32]" = r[2]
        r_3: "i8[4, 16, 2, 32]" = r[3]
        r_4: "i8[4, 16, 2, 32]" = r[4]
        return (r_0, r_1, r_2, r_3, r_4,)
