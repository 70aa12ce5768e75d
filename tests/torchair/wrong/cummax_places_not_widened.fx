class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[3, 4]"):
        m = torch.ops.aten.cummax.default(x, 1)
        a: "f32[3, 4]" = m[0]
        b: "i64[3, 4]" = m[1]
        return (a, b)
