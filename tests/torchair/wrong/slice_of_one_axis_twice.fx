class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[8, 2]"):
        a: "f32[5, 2]" = torch.ops.aten.slice.Tensor(x, 0, 1, 6)
        b: "f32[3, 2]" = torch.ops.aten.slice.Tensor(a, 0, 1, 4)
        u: "f32[3, 2]" = torch.ops.aten.neg.default(b)
        return (u,)
