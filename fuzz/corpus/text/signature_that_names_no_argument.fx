ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, b_k_cache: "f32[2, 2, 8, 4]", b_v_cache: "f32[2, 8, 2, 4]", k: "f32[2, 2, 3, 4]", v: "f32[2, 2, 3, 4]", pos: "i64[3]"):
             # File: make_models.py:115 in forward, code: self.k_cache.index_copy_(2, pos, k)
            index_put: "f32[2, 2, 8, 4]" = torch.ops.aten.index_put.default(b_k_cache, [None, None, pos], k);  b_k_cache = k = None
            
             # File: make_models.py:116 in forward, code: self.v_cache[:, pos] = v.transpose(1, 2)
            permute: "f32[2, 3, 2, 4]" = torch.ops.aten.permute.default(v, [0, 2, 1, 3]);  v = None
            slice_1: "f32[2, 8, 2, 4]" = torch.ops.aten.slice.Tensor(b_v_cache, 0, 0, 9223372036854775807)
            index_put_1: "f32[2, 8, 2, 4]" = torch.ops.aten.index_put.default(slice_1, [None, pos], permute);  slice_1 = pos = permute = None
            slice_scatter: "f32[2, 8, 2, 4]" = torch.ops.aten.slice_scatter.default(b_v_cache, index_put_1, 0, 0, 9223372036854775807);  b_v_cache = index_put_1 = None
            
             # File: make_models.py:117 in forward, code: return self.k_cache.sum(-1), self.v_cache.transpose(1, 2) * 2.0
            sum_1: "f32[2, 2, 8]" = torch.ops.aten.sum.dim_IntList(index_put, [-1])
            permute_1: "f32[2, 2, 8, 4]" = torch.ops.aten.permute.default(slice_scatter, [0, 2, 1, 3])
            mul: "f32[2, 2, 8, 4]" = torch.ops.aten.mul.Tensor(permute_1, 2.0);  permute_1 = None
            return (index_put, slice_scatter, sum_1, mul)
            
Graph signature: ExportGraphSignature(input_specs=[InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_k_cache'), target='k_cache', persistent=True), InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_v_cache'), target='v_cache', persistent=False), InputSpec(kind=<InputKind.USER_INPUT: 1>, arg=TensorArgumb8t(name='k'), target=None, persistent=None), InputSpec(kind=<InputKind.USER_INPUT: 1>, arg=TensorArgument(name='v'), target=None, persistent=None), InputSpec(kind=<InputKind.USER_INPUT: 1>, arg=TensorArgument(name=']]]pos'), target=None, persistent=None)], output_specs=[OutputSpec(kind=<OutputKind.BUFFER_MUTATION: 3>, arg=TensorArgument(name='index_put'), target='k_cache'), OutputSpec(kind=<OutputKind.BUFFER_MUTATION: 3>, arg=TensorArgument(name='slice_scatter'), target='v_cache'), OutputSpec(kind=<OutputKind.USER_OUTPUT: 1>, arg=TensorArgument(name='sum_1'), target=None), OutputSpec(kind=<OutputKind.USER_OUTPUT: 1>, arg=TensorArgument(name='mul'), target=None)])
Range constraints: {}

