ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, b_b: "f32[2]", b_it_s: "f32[1]"):
            # File: model.py:9 in forward, code: def forward(s): s.b.add_(1)
            add: "f32[2]" = torch.ops.aten.add.Tensor(b_b, 1);  b_b = None
            return (add, None)
    
Graph signature:
    # inputs
    b_b: BUFFER target='b' persistent=True
    b_it_s: BUFFER target='it's' persistent=False
    
    # outputs
    add: BUFFER_MUTATION target='b'
    : USER_OUTPUT
    
Range constraints: {}

