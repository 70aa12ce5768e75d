class GraphModule(torch.nn.Module):
    def forward(self, x_1: "f32[3, 4]", y_1: "f32[3, 2]"):
        slice_1: "f32[3, 2]" = torch.ops.aten.slice.Tensor(x_1, 1, 1, 3)
        copy_: "f32[3, 2]" = torch.ops.aten.copy_.default(slice_1, y_1)
        return copy_
