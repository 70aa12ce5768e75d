class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[3, 3]", y: "f32[3, 3]"):
        mul: "f32[3, 3]" = torch.ops.aten.mul.Tensor(x, y)
        relu: "f32[3, 3]" = torch.ops.aten.relu.default(mul);  mul = None
        cat: "f32[6, 3]" = torch.ops.aten.cat.default([relu, y]);  relu = cat = None
        add: "f32[3, 3]" = torch.ops.aten.add.Tensor(x, y)
        rand: "f32[3]" = torch.ops.aten.rand.default([3], pin_memory = False);  rand = None
        neg: "f32[3, 3]" = torch.ops.aten.neg.default(add);  neg = None
        return (add,)
