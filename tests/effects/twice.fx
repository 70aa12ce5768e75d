class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[2, 3]", y: "f32[2, 3]"):
        # once is enough: the same operands give the same values
        nz = torch.ops.aten.nonzero.default(x)
        nz2 = torch.ops.aten.nonzero.default(x)
        a = torch.ops.aten.sum.default(nz)
        b = torch.ops.aten.sum.default(nz2)
        s: "f32[]" = torch.ops.aten.sum.default(y)
        i = torch.ops.aten.item.default(s)
        j = torch.ops.aten.item.default(s)
        c = torch.ops.aten.add.Tensor(a, b)
        # left to chance, and drawn: two are two
        e = torch.ops.aten.empty_like.default(x)
        f = torch.ops.aten.empty_like.default(x)
        d1: "f32[2, 3]" = torch.ops.aten.dropout.default(x, 0.5, True)
        d2: "f32[2, 3]" = torch.ops.aten.dropout.default(x, 0.5, True)
        # a dropout that drops nothing draws nothing
        k1: "f32[2, 3]" = torch.ops.aten.dropout.default(x, 0.5, False)
        k2: "f32[2, 3]" = torch.ops.aten.dropout.default(x, 0.5, False)
        m1 = torch.ops.aten.mul.Tensor(k1, i)
        m2 = torch.ops.aten.mul.Tensor(k2, j)
        return (c, m1, m2, e, f, d1, d2)
