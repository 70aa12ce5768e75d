class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[2, 3]", y: "f32[2, 3]", z: "f32[s0, 3]", p: "b8[]"):
        relu: "f32[2, 3]" = torch.ops.aten.relu.default(x)
        sub: "f32[2, 3]" = torch.ops.aten.sub.Tensor(relu, y);  relu = None
        rand: "f32[2, 3]" = torch.ops.aten.rand_like.default(sub)
        add_: "f32[2, 3]" = torch.ops.aten.add_.Tensor(y, 1.0);  add_ = None
        read: "f32[2, 3]" = torch.ops.aten.mul.Tensor(y, rand);  y = rand = None
        true_graph_0 = self.true_graph_0
        false_graph_0 = self.false_graph_0
        cond = torch.ops.higher_order.cond(p, true_graph_0, false_graph_0, [x]);  p = true_graph_0 = false_graph_0 = x = None
        getitem: "f32[2, 3]" = cond[0];  cond = None
        tall: "f32[s0, 3]" = torch.ops.aten.neg.default(z);  z = None
        dead: "f32[2, 3]" = torch.ops.aten.neg.default(sub);  dead = None
        return (sub, read, getitem, tall)

    class true_graph_0(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            a: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, 1);  x = None
            return (a,)

    class false_graph_0(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            a: "f32[2, 3]" = torch.ops.aten.mul.Tensor(x, 2);  x = None
            return (a,)
