class GraphModule(torch.nn.Module):
    def forward(self, g: "f16[1, 1, 3, 3]"):
        y: "f16[1, 1, 2, 2]" = torch.ops.aten.upsample_nearest2d_backward.default(g, [3, 3], [1, 1, 2, 2])
        return (y,)
