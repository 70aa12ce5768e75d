class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[s0, s1, 4]", y: "f32[s0, s1, 4]"):
        sym_size_int: "Sym(s0)" = torch.ops.aten.sym_size.int(x, 0)
        sym_size_int_1: "Sym(s1)" = torch.ops.aten.sym_size.int(x, 1)
        view: "f32[s0, s1, 4]" = torch.ops.aten.view.default(x, [sym_size_int, sym_size_int_1, 4])
        add: "f32[s0, s1, 4]" = torch.ops.aten.add.Tensor(view, y);  view = None
        view_1: "f32[s1, s0, 4]" = torch.ops.aten.view.default(add, [sym_size_int_1, sym_size_int, 4]);  sym_size_int = sym_size_int_1 = None
        mul: "f32[s1, s0, 4]" = torch.ops.aten.mul.Tensor(view_1, 2);  view_1 = None
        return (add, mul)
