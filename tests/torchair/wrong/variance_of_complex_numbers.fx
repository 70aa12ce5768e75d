class GraphModule(torch.nn.Module):
    def forward(self, x: "c64[3, 3]"):
        u: "f32[3]" = torch.ops.aten.var.correction(x, [0], correction = 1)
        return (u,)
