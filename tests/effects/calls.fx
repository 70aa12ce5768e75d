class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[2, 3]", y: "f32[2, 3]", i: "i64[4]", m: "f32[3]", v: "f32[3]", n: "f32[1, 3, 2, 2]", b: "b8[]"):
        # a function of its operands
        exp: "f32[2, 3]" = torch.ops.aten.exp.default(x)
        add: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, y)
        add_scaled: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, y, alpha = 2)
        add_number: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, 1.0)
        index_select: "f32[4, 3]" = torch.ops.aten.index_select.default(x, 0, i)
        # left to chance
        empty: "f32[2, 3]" = torch.ops.aten.empty_like.default(x)
        rand: "f32[2, 3]" = torch.ops.aten.rand_like.default(x)
        # draws, shares: by argument
        dropped: "f32[2, 3]" = torch.ops.aten.dropout.default(x, 0.5, True)
        kept: "f32[2, 3]" = torch.ops.aten.dropout.default(x, 0.5, False)
        # views: sure, of several results, and by layout
        view: "f32[6]" = torch.ops.aten.view.default(x, [6])
        split = torch.ops.aten.split.Tensor(x, 1)
        row: "f32[1, 3]" = split[0]
        reshape: "f32[6]" = torch.ops.aten.reshape.default(x, [6])
        turned: "f32[3, 2]" = torch.ops.aten.t.default(exp)
        copied: "f32[6]" = torch.ops.aten.reshape.default(turned, [6])
        cast: "f32[2, 3]" = torch.ops.aten.to.dtype(x, torch.float32)
        widened: "f64[2, 3]" = torch.ops.aten.to.dtype(x, torch.float64)
        # writes: shown, and hidden by an argument
        add_: "f32[2, 3]" = torch.ops.aten.add_.Tensor(exp, y)
        train = torch.ops.aten.native_batch_norm.default(n, None, None, m, v, True, 0.1, 1e-05)
        infer = torch.ops.aten.native_batch_norm.default(n, None, None, m, v, False, 0.1, 1e-05)
        # effects
        check = torch.ops.aten._assert_async.default(b)
        enter = torch.ops.air.scope_enter.default(['_user_stream_label'], ['s'])
        leave = torch.ops.air.scope_exit.default()
        event = torch.ops.air.record.default()
        # nobody described it
        mystery: "f32[2, 3]" = torch.ops.demo.mystery.default(x, 3, out = y)
        return (exp, add)
