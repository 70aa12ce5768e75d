class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f16[16, 1152]", arg1_1: "f16[128]", arg2_1: "f16[128]", arg3_1: "f16[16, 128]", arg4_1: "f16[16, 128]", arg5_1: "i64[16]", arg6_1: "f16[16, 896]", arg7_1: "i8[4, 8, 16, 16]", arg8_1: "i8[4, 8, 16, 16]", arg9_1: "f32[1, 128]", arg10_1: "f32[1, 128]"):
        r = torch.ops.npu.npu_qkv_rms_norm_rope_cache_functional.default(arg0_1, arg1_1, arg2_1, arg3_1, arg4_1, arg5_1, arg6_1, arg7_1, arg8_1, [4, 4, 9, 128], [7, 1, 1], k_scale = arg9_1, v_scale = arg10_1, is_output_qkv = True)
        r_0: "f16[16, 896]" = r[0]
        r_1: "f16[16, 128]" = r[1]
        r_2: "f16[16, 128]" = r[2]
        r_3: "f16[16, 896]" = r[3]
        r_4: "i8[4, 8, 16, 16]" = r[4]
        r_5: "i8[4, 8, 16, 16]" = r[5]
        return (r_0, r_1, r_2, r_3, r_4, r_5,)
