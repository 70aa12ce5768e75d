class GraphModule(torch.nn.Module):
    def forward(self, n: "Sym(s95)", x: "f32[4, s95, 8]"):
        # No stacktrace found for following nodes
        sym_size: "Sym(s95)" = torch.ops.aten.sym_size(x, 1)
        view_default: "f32[4, s95, 1, 8]" = torch.ops.aten.reshape.default(x, [4, sym_size, 1, 8]);  x = None
        permute_default: "f32[s95, 4, 8, 1]" = torch.ops.aten.permute.default(view_default, [1, 0, 3, 2]);  view_default = None
        view_default_1: "f32[s95, 4, 8]" = torch.ops.aten.reshape.default(permute_default, [sym_size, 4, 8]);  permute_default = sym_size = None
        relu_default: "f32[s95, 4, 8]" = torch.ops.aten.relu.default(view_default_1);  view_default_1 = None
        return (relu_default,)
