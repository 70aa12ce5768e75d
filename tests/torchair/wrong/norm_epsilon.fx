class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[4, 3]"):
        u: "f32[4]" = torch.ops.aten.linalg_vector_norm.default(x, 2, [1])
        return (u,)
