class GraphModule(torch.nn.Module):
    def forward(self, p: "b8[]", x: "f32[4]"):
        t = self.t
        f = self.f
        cond = torch.ops.higher_order.cond(p, t, f, (x,))
        getitem: "f32[4]" = cond[0]
        return (getitem,)

    class t(torch.nn.Module):
        def forward(self, x: "f32[4]"):
            sin: "f32[4]" = torch.ops.aten.sin.default(x)
            return (sin,)

    class f(torch.nn.Module):
        def forward(self, x: "f32[4]"):
            neg: "f32[4]" = torch.ops.aten.neg.default(x)
            return (neg,)

    class t(torch.nn.Module):
        def forward(self, x: "f32[4]"):
            cos: "f32[4]" = torch.ops.aten.cos.default(x)
            return (cos,)
