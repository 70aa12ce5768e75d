ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2]"):
            return (x,)
    
Graph signature:
    # inputs
    x: PARAMTER target='w'
