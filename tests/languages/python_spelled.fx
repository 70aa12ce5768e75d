ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "b8[4]", y: "b8[4]"):
            a: "b8[4]" = torch.ops.aten.__and__.Tensor(x, y)
            b: "b8[4]" = torch.ops.aten.__and__.Tensor(x, y)
            c: "b8[4]" = torch.ops.aten.__or__.Tensor(a, b)
            return (c,)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    c: USER_OUTPUT

Range constraints: {}
