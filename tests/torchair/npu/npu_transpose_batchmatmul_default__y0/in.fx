class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f16[4, 2, 16]", arg1_1: "f16[2, 16, 8]"):
        r: "f16[2, 4, 8]" = torch.ops.npu.npu_transpose_batchmatmul.default(arg0_1, arg1_1, perm_x1 = [1, 0, 2], perm_x2 = [0, 1, 2], perm_y = [1, 0, 2], batch_split_factor = 2)
        return (r,)
