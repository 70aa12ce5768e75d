class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[4, 6]", y: "f32[2, 3]"):
        u: "f32[4, 6]" = torch.ops.aten.as_strided_scatter.default(x, y, [2, 3], [6, 1], 0)
        return (u,)
