ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s77]"):
            return (x,)
    
Range constraints: {s77: VR[8, 2]}
