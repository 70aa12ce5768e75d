class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[2, 2]"):
        # No stacktrace found for following nodes
        pow_tensor_scalar: "f32[2, 2]" = torch.ops.aten.pow.Tensor_Scalar(arg0_1, exponent = 3.0);  arg0_1 = None
        return (pow_tensor_scalar,)
