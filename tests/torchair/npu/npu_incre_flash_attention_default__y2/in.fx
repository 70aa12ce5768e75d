class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f16[2, 4, 1, 16]", arg1_1: "i8[2, 4, 32, 16]", arg2_1: "i8[2, 4, 32, 16]", arg3_1: "f16[2, 4, 1, 16]", arg4_1: "f16[2, 4, 1, 16]"):
        r: "f16[2, 4, 1, 16]" = torch.ops.npu.npu_incre_flash_attention.default(arg0_1, arg1_1, arg2_1, antiquant_scale = arg3_1, antiquant_offset = arg4_1, num_heads = 4, scale_value = 0.25, input_layout = 'BNSD')
        return (r,)
