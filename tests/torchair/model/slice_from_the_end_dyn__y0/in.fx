class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "Sym(s10)", arg1_1: "Sym(s21)", arg2_1: "f32[s10, s21]"):
        # No stacktrace found for following nodes
        slice_2: "f32[s10, 2]" = torch.ops.aten.slice.Tensor(arg2_1, 1, -2, 9223372036854775807)
        slice_4: "f32[s10, 2]" = torch.ops.aten.slice.Tensor(arg2_1, 1, 0, 2);  arg2_1 = None
        mul: "f32[s10, 2]" = torch.ops.aten.mul.Tensor(slice_2, slice_4);  slice_2 = slice_4 = None
        return (mul,)
