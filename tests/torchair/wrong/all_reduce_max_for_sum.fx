class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[4]"):
        a: "f32[4]" = torch.ops._c10d_functional.all_reduce.default(x, 'sum', '0')
        w: "f32[4]" = torch.ops._c10d_functional.wait_tensor.default(a)
        return (w,)
