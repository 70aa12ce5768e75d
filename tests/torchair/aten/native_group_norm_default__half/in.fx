class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f16[2, 320, 64, 64]"):
        # No stacktrace found for following nodes
        native_group_norm_default = torch.ops.aten.native_group_norm.default(arg0_1, None, None, 2, 320, 4096, 32, 1e-05);  arg0_1 = None
        getitem: "f16[2, 320, 64, 64]" = native_group_norm_default[0]
        getitem_1: "f16[2, 32]" = native_group_norm_default[1]
        getitem_2: "f16[2, 32]" = native_group_norm_default[2];  native_group_norm_default = None
        return (getitem, getitem_1, getitem_2)
