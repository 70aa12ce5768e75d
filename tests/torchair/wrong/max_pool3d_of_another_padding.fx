class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[1, 2, 4, 4, 4]"):
        m = torch.ops.aten.max_pool3d_with_indices.default(x, [2, 2, 2], [2, 2, 2])
        a: "f32[1, 2, 2, 2, 2]" = m[0]
        return (a,)
