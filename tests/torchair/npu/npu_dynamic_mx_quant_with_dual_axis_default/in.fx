class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f16[8, 256]"):
        # No stacktrace found for following nodes
        npu_dynamic_mx_quant_with_dual_axis_default = torch.ops.npu.npu_dynamic_mx_quant_with_dual_axis.default(arg0_1);  arg0_1 = None
        getitem: "u8[8, 128]" = npu_dynamic_mx_quant_with_dual_axis_default[0]
        getitem_1: "u8[8, 4, 2]" = npu_dynamic_mx_quant_with_dual_axis_default[1]
        getitem_2: "u8[8, 128]" = npu_dynamic_mx_quant_with_dual_axis_default[2]
        getitem_3: "u8[1, 256, 2]" = npu_dynamic_mx_quant_with_dual_axis_default[3];  npu_dynamic_mx_quant_with_dual_axis_default = None
        return (getitem, getitem_1, getitem_2, getitem_3)
