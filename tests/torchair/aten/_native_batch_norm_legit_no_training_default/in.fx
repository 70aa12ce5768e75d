class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[2, 2, 2]", arg1_1: "f32[2]", arg2_1: "f32[2]", arg3_1: "f32[2]", arg4_1: "f32[2]"):
        # No stacktrace found for following nodes
        _native_batch_norm_legit_no_training_default = torch.ops.aten._native_batch_norm_legit_no_training.default(arg0_1, arg1_1, arg2_1, arg3_1, arg4_1, momentum = 0.9, eps = 1e-05);  arg0_1 = arg1_1 = arg2_1 = arg3_1 = arg4_1 = None
        getitem: "f32[2, 2, 2]" = _native_batch_norm_legit_no_training_default[0]
        getitem_1: "f32[2]" = _native_batch_norm_legit_no_training_default[1]
        getitem_2: "f32[2]" = _native_batch_norm_legit_no_training_default[2];  _native_batch_norm_legit_no_training_default = None
        return (getitem, getitem_1, getitem_2)
