ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, b_b: "f32[2]", b_it_s: "f32[1]"):
            # File: model.py:9 in forward, code: def forward(s): s.b.add_(1)
            add_: "f32[2]" = torch.ops.aten.add_.Tensor(b_b, 1);  b_b = add_ = None
            return (None,)
    
Graph signature:
    # inputs
    b_b: BUFFER target='b' persistent=True
    b_it_s: BUFFER target='it's' persistent=False
    
    # outputs
    : USER_OUTPUT
    
Range constraints: {}

