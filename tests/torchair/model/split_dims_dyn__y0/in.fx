class GraphModule(torch.nn.Module):
    def forward(self, n: "Sym(s95)", m: "Sym(s72)", x: "f32[s95, s72, 8]"):
        # No stacktrace found for following nodes
        sym_size_1: "Sym(s72)" = torch.ops.aten.sym_size(x, 1)
        sym_size: "Sym(s95)" = torch.ops.aten.sym_size(x, 0)
        permute_default: "f32[s72, s95, 8]" = torch.ops.aten.permute.default(x, [1, 0, 2]);  x = None
        view_default: "f32[s72, s95, 2, 4]" = torch.ops.aten.reshape.default(permute_default, [sym_size_1, sym_size, 2, 4]);  permute_default = sym_size_1 = sym_size = None
        permute_default_1: "f32[s72, 2, s95, 4]" = torch.ops.aten.permute.default(view_default, [0, 2, 1, 3]);  view_default = None
        relu_default: "f32[s72, 2, s95, 4]" = torch.ops.aten.relu.default(permute_default_1);  permute_default_1 = None
        return (relu_default,)
