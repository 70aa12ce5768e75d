class GraphModule(torch.nn.Module):
    def forward(self, p: "b8[]", x: "f32[s0, 4]"):
        sym_size_int: "Sym(s0)" = torch.ops.aten.sym_size.int(x, 0)
        view: "f32[s0, 4]" = torch.ops.aten.view.default(x, [sym_size_int, 4]);  sym_size_int = None
        exp: "f32[s0, 4]" = torch.ops.aten.exp.default(view);  view = None
        true_graph_0 = self.true_graph_0
        false_graph_0 = self.false_graph_0
        cond = torch.ops.higher_order.cond(p, true_graph_0, false_graph_0, (exp,));  p = true_graph_0 = false_graph_0 = exp = None
        getitem: "f32[s0, 4]" = cond[0];  cond = None
        return (getitem,)

    class true_graph_0(torch.nn.Module):
        def forward(self, x: "f32[s0, 4]"):
            view: "f32[s0, 4]" = torch.ops.aten.view.default(x, [-1, 4]);  x = None
            relu: "f32[s0, 4]" = torch.ops.aten.relu.default(view);  view = None
            return (relu,)

    class false_graph_0(torch.nn.Module):
        def forward(self, x: "f32[s0, 4]"):
            expand: "f32[s0, 4]" = torch.ops.aten.expand.default(x, [-1, 4]);  x = None
            neg: "f32[s0, 4]" = torch.ops.aten.neg.default(expand);  expand = None
            return (neg,)
