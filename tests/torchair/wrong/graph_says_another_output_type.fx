class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[3, 4]"):
        u: "f32[3, 4]" = torch.ops.aten.neg.default(x)
        return (u,)
