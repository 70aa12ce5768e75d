ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[5, 3]"):
            # File: model.py:27 in forward, code: return m(inner,x,x[0].clone())
            select: "f32[3]" = torch.ops.aten.select.int(x, 0, 0)
            clone: "f32[3]" = torch.ops.aten.clone.default(select);  select = None
    
            # File: <eval_with_key>.64:8 in forward, code: map_impl = torch.ops.higher_order.map_impl(map_body_0, [l_flat_xs_0_], [l_flat_args_0_]);  map_body_0 = l_flat_xs_0_ = l_flat_args_0_ = None
            body_graph_0 = self.body_graph_0
            map_impl = torch.ops.higher_order.map_impl(body_graph_0, [x], [clone]);  body_graph_0 = x = clone = None
            getitem: "f32[5, 3]" = map_impl[0];  map_impl = None
            return (getitem,)
    
        class body_graph_0(torch.nn.Module):
            def forward(self, x: "f32[3]", clone: "f32[3]"):
                # File: <eval_with_key>.65:5 in forward, code: sum_1 = child.sum()
                sum_1: "f32[]" = torch.ops.aten.sum.default(x)
    
                # File: <eval_with_key>.65:6 in forward, code: gt = sum_1 > 0;  sum_1 = None
                gt: "b8[]" = torch.ops.aten.gt.Scalar(sum_1, 0);  sum_1 = None
    
                # File: <eval_with_key>.65:9 in forward, code: cond = torch.ops.higher_order.cond(gt, cond_true_1, cond_false_1, (child,));  gt = cond_true_1 = cond_false_1 = child = None
                true_graph_0 = self.true_graph_0
                false_graph_0 = self.false_graph_0
                cond = torch.ops.higher_order.cond(gt, true_graph_0, false_graph_0, (x,));  gt = true_graph_0 = false_graph_0 = x = None
                getitem: "f32[3]" = cond[0];  cond = None
                return (getitem,)
    
            class true_graph_0(torch.nn.Module):
                def forward(self, x: "f32[3]"):
                    # File: <eval_with_key>.66:6 in forward, code: mean = child_1.mean()
                    mean: "f32[]" = torch.ops.aten.mean.default(x)
    
                    # File: <eval_with_key>.66:7 in forward, code: gt = mean > 1;  mean = None
                    gt: "b8[]" = torch.ops.aten.gt.Scalar(mean, 1);  mean = None
    
                    # File: <eval_with_key>.66:10 in forward, code: cond = torch.ops.higher_order.cond(gt, cond_true_0, cond_false_0, (child_1,));  gt = cond_true_0 = cond_false_0 = child_1 = None
                    true_graph_0 = self.true_graph_0
                    false_graph_0 = self.false_graph_0
                    cond = torch.ops.higher_order.cond(gt, true_graph_0, false_graph_0, (x,));  gt = true_graph_0 = false_graph_0 = x = None
                    getitem: "f32[3]" = cond[0];  cond = None
                    return (getitem,)
    
                class true_graph_0(torch.nn.Module):
                    def forward(self, x: "f32[3]"):
                        # File: <eval_with_key>.67:6 in forward, code: add = child_1 + 1;  child_1 = None
                        add: "f32[3]" = torch.ops.aten.add.Tensor(x, 1);  x = None
                        return (add,)
    
                class false_graph_0(torch.nn.Module):
                    def forward(self, x: "f32[3]"):
                        # File: <eval_with_key>.68:6 in forward, code: sub = child_1 - 2.5;  child_1 = None
                        sub: "f32[3]" = torch.ops.aten.sub.Tensor(x, 2.5);  x = None
                        return (sub,)
    
            class false_graph_0(torch.nn.Module):
                def forward(self, x: "f32[3]"):
                    # File: <eval_with_key>.69:6 in forward, code: mul = child_1 * 2;  child_1 = None
                    mul: "f32[3]" = torch.ops.aten.mul.Tensor(x, 2);  x = None
                    return (mul,)
    
Graph signature:
    # inputs
    x: USER_INPUT
    
    # outputs
    getitem: USER_OUTPUT
    
Range constraints: {}

