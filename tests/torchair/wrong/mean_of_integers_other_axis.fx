class GraphModule(torch.nn.Module):
    def forward(self, x: "i32[3, 4]"):
        u: "f32[4]" = torch.ops.aten.mean.dim(x, [0], dtype = torch.float32)
        return (u,)
