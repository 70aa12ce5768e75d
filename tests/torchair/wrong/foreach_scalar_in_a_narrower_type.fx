class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[4]", y: "f32[4]"):
        l = torch.ops.aten._foreach_add.Scalar([x, y], 0.1)
        a: "f32[4]" = l[0]
        b: "f32[4]" = l[1]
        return (a, b)
