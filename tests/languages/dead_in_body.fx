class GraphModule(torch.nn.Module):
    def forward(self, p: "b8[]", x: "f32[3, 4]"):
        true_graph_0 = self.true_graph_0
        false_graph_0 = self.false_graph_0
        cond = torch.ops.higher_order.cond(p, true_graph_0, false_graph_0, (x,));  p = true_graph_0 = false_graph_0 = x = None
        getitem: "f32[3, 4]" = cond[0];  cond = None
        return (getitem,)

    class true_graph_0(torch.nn.Module):
        def forward(self, x: "f32[3, 4]"):
            cos: "f32[3, 4]" = torch.ops.aten.cos.default(x)
            sin: "f32[3, 4]" = torch.ops.aten.sin.default(cos);  cos = sin = None
            relu: "f32[3, 4]" = torch.ops.aten.relu.default(x);  x = None
            return (relu,)

    class false_graph_0(torch.nn.Module):
        def forward(self, x: "f32[3, 4]"):
            neg: "f32[3, 4]" = torch.ops.aten.neg.default(x);  x = None
            abs_1: "f32[3, 4]" = torch.ops.aten.abs.default(neg)
            abs_2: "f32[3, 4]" = torch.ops.aten.abs.default(neg);  neg = abs_2 = None
            return (abs_1,)
