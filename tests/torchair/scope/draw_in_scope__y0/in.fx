class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[4, 4]"):
        # No stacktrace found for following nodes
        scope_enter_default = torch.ops.air.scope_enter.default(['_user_stream_label'], ['s1']);  scope_enter_default = None
        rand_default: "f32[4, 4]" = torch.ops.aten.rand.default([4, 4], dtype = torch.float32, device = device(type='npu', index=0), pin_memory = False)
        scope_exit_default = torch.ops.air.scope_exit.default();  scope_exit_default = None
        add_tensor: "f32[4, 4]" = torch.ops.aten.add.Tensor(x, rand_default);  x = rand_default = None
        return (add_tensor,)
