class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[4, 3]", y: "f32[4, 3]"):
        # No stacktrace found for following nodes
        clone_default: "f32[4, 3]" = torch.ops.aten.clone.default(x)
        copy_default: "f32[4, 3]" = torch.ops.aten.copy.default(x, y)
        add_tensor: "f32[4, 3]" = torch.ops.aten.add.Tensor(copy_default, clone_default)
        copy__default: "f32[4, 3]" = torch.ops.aten.copy_.default(x, copy_default);  x = copy_default = copy__default = None
        copy__default_1: "f32[4, 3]" = torch.ops.aten.copy_.default(y, clone_default);  y = clone_default = copy__default_1 = None
        return (add_tensor,)
