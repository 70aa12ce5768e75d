class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "i8[8, 64]", arg1_1: "i32[8, 2]", arg2_1: "f32[8]"):
        r = torch.ops.npu.npu_moe_init_routing_v2.default(arg0_1, arg1_1, scale = arg2_1, active_num = 16, expert_num = 4, active_expert_range = [0, 4])
        r_0: "i8[16, 64]" = r[0]
        r_1: "i32[16]" = r[1]
        r_2: "i64[]" = r[2]
        r_3: "f32[16]" = r[3]
        return (r_0, r_1, r_2, r_3,)
