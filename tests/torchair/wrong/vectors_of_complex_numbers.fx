class GraphModule(torch.nn.Module):
    def forward(self, x: "c64[3, 3]"):
        s = torch.ops.aten._linalg_svd.default(x)
        u: "c64[3, 3]" = s[0]
        v: "f32[3]" = s[1]
        w: "c64[3, 3]" = s[2]
        return (u, v, w)
