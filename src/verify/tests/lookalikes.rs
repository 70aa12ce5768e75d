//! Rewrites that look alike and are not: what memory, annotations, signatures and structures hide.

use crate::formats::text::{self, ReadOptions};
use crate::verify::tests::twins::{program, registry};
use crate::verify::{JudgeOptions, Verdict, judge_pair};

fn judge(inputs: &str, before: &str, after: &str) -> Verdict {
    judge_pair(&program(inputs, before), &program(inputs, after), &registry(), &JudgeOptions::default())
}

#[track_caller]
fn same(inputs: &str, before: &str, after: &str) {
    let v = judge(inputs, before, after);
    assert!(v.accepted, "{v:#?}");
}

#[track_caller]
fn refused(inputs: &str, before: &str, after: &str) {
    let v = judge(inputs, before, after);
    assert!(!v.accepted, "{v:#?}");
}

fn judge_texts(before: &str, after: &str) -> Verdict {
    let read = |t: &str| {
        let mut g = text::read(t, &ReadOptions::default()).unwrap_or_else(|e| panic!("{}", e.render()));
        registry().check_types(&mut g);
        g
    };
    judge_pair(&read(before), &read(after), &registry(), &JudgeOptions::default())
}

const X: &str = "x: f32[4, 4]";

#[test]
fn values_inside_nested_outputs_are_compared() {
    same(X, "a = aten.relu.default(x)\nreturn ([a], a)", "b = aten.relu.default(x)\nreturn ([b], b)");
    refused(X, "a = aten.relu.default(x)\nreturn ([a],)", "a = aten.neg.default(x)\nreturn ([a],)");
    refused(X, "a = aten.relu.default(x)\nreturn ([a, x],)", "a = aten.relu.default(x)\nreturn ([a], x)");
    refused(X, "a = aten.relu.default(x)\nreturn ({'k': a},)", "a = aten.neg.default(x)\nreturn ({'k': a},)");
    refused(X, "a = aten.relu.default(x)\nreturn a", "a = aten.relu.default(x)\nreturn (a,)");
}

#[test]
fn a_write_to_an_input_without_type_is_seen() {
    let plain = "class GraphModule(torch.nn.Module):\n    def forward(self, x):\n        return (1,)\n";
    let write = "class GraphModule(torch.nn.Module):\n    def forward(self, x):\n        a = torch.ops.aten.add_.Tensor(x, 1)\n        return (1,)\n";
    assert!(judge_texts(plain, plain).accepted);
    assert!(!judge_texts(write, plain).accepted);
}

#[test]
fn a_write_to_a_tensor_of_the_module_is_not_dropped() {
    let text = |m: &str| {
        format!(
            "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[4]\"):\n{m}        r = torch.ops.aten.neg.default(x)\n        return (r,)\n"
        )
    };
    let write = text("        m: \"f32[4]\" = self.buf\n        a: \"f32[4]\" = torch.ops.aten.add_.Tensor(m, x)\n");
    let read = text("        m: \"f32[4]\" = self.buf\n        a: \"f32[4]\" = torch.ops.aten.add.Tensor(m, x)\n");
    assert!(judge_texts(&read, &text("")).accepted);
    assert!(!judge_texts(&write, &text("")).accepted);
}

#[test]
fn what_sees_strides_is_not_moved_to_memory_laid_out_otherwise() {
    let with = |copy: &str, op: &str| format!("p = aten.permute.default(x, [1, 0])\n{copy}\na = {op}\nreturn (a,)");
    for op in [
        "aten.as_strided_copy.default(q, [16], [1], 0)",
        "aten.sym_stride.int(q, 0)",
        "aten.as_strided_scatter.default(q, x, [4, 4], [4, 1], 0)",
    ] {
        let copied = with("q = aten.clone.default(p, memory_format = torch.contiguous_format)", op);
        same(X, &copied, &copied);
        refused(X, &with("q = aten.alias.default(p)", op), &copied);
    }
}

#[test]
fn what_sees_the_memory_around_its_operand_is_ordered_with_writes_to_that() {
    let lines = |first: &str, second: &str| {
        format!(
            "v = aten.slice.Tensor(x, 0, 0, 2)\na = aten.as_strided.default(v, [2], [1], 4)\nw = aten.slice.Tensor(x, 0, 4, 6)\n{first}\n{second}\nreturn (c,)"
        )
    };
    let (read, write) = ("c = aten.neg.default(a)", "m = aten.add_.Tensor(w, 1)");
    same("x: f32[8]", &lines(read, write), &lines(read, write));
    refused("x: f32[8]", &lines(read, write), &lines(write, read));
}

#[test]
fn one_memory_given_twice_is_not_two_memories_of_one_content() {
    let with = |first: &str| {
        format!("t = aten.neg.default(x)\nc = aten.clone.default(t)\nr = foo.bar.default({first}, t)\nq = aten.neg.default(r)\nreturn (q,)")
            .replace("foo.", "torch.ops.foo.")
            .replace("r = torch", "r: \"f32[4, 4]\" = torch")
    };
    same(X, &with("c"), &with("c"));
    refused(X, &with("c"), &with("t"));
}

#[test]
fn statistics_are_updated_in_training_only() {
    let bn = "x: f32[2, 3, 4]; m: f32[3]; v: f32[3]";
    let rest = "r = aten.neg.default(m)\nreturn (r,)";
    for name in [
        "native_batch_norm.default(x, None, None, m, v, FLAG, 0.1, 1e-05)",
        "batch_norm.default(x, None, None, m, v, FLAG, 0.1, 1e-05, False)",
        "instance_norm.default(x, None, None, m, v, FLAG, 0.1, 1e-05, False)",
    ] {
        let with = |flag: &str| format!("n = aten.{}\n{rest}", name.replace("FLAG", flag));
        same(bn, &with("False"), rest);
        refused(bn, &with("True"), rest);
    }
}

#[test]
fn tensors_that_change_shape_or_memory_in_place_are_not_understood() {
    let xy = "x: f32[2, 3]; y: f32[2, 3]";
    let rest = "r = aten.neg.default(y)\nreturn (r,)";
    let start = "t = aten.neg.default(x)\n";
    refused(xy, &format!("{start}s = aten.set_.source_Tensor(t, y)\nm = aten.add_.Tensor(t, 1)\n{rest}"), rest);
    refused(xy, &format!("{start}s = aten.t_.default(t)\n{rest}"), &format!("{start}{rest}"));
}

#[test]
fn an_annotation_does_not_settle_what_only_running_tells() {
    let t = "t: i64[]; x: f32[s77]";
    let with =
        |ty: &str, tail: &str| format!("i: \"Sym({ty})\" = aten._local_scalar_dense.default(t)\n{tail}\nreturn (r,)");
    same(t, &with("u0", "r = aten.full.default([2], i)"), &with("u0", "r = aten.full.default([2], i)"));
    refused(t, &with("u0", "r = aten.full.default([2], 3)"), &with("3", "r = aten.full.default([2], i)"));
    refused(
        t,
        &with("u0", "z = aten.sym_size.int(x, 0)\nr = aten.mul.Scalar(x, z)"),
        &with("s77", "r = aten.mul.Scalar(x, i)"),
    );
}

#[test]
fn sizes_that_fit_for_some_values_only_raise_for_the_others() {
    let x = "x: f32[s77]; y: f32[s12]; z: f32[s77]";
    let rest = "r = aten.neg.default(x)\nreturn (r,)";
    for fits in ["aten.add.Tensor(x, z)", "aten.slice.Tensor(x, 0, 0, 5)", "aten.view.default(x, [1, -1])"] {
        same(x, rest, &format!("d = {fits}\n{rest}"));
    }
    for may_not in ["aten.select.int(x, 0, 5)", "aten.add.Tensor(x, y)", "aten.view.default(x, [-1, 2])"] {
        let with = format!("d = {may_not}\n{rest}");
        same(x, &with, rest);
        same(x, &with, &with);
        refused(x, rest, &with);
    }
}

#[test]
fn a_call_wrapped_to_write_nothing_keeps_its_effect() {
    let with = |op: &str| {
        format!("w = wrap.auto_functionalized({op})\nreturn (x,)")
            .replace("wrap.", "torch.ops.higher_order.")
            .replace("(foo.", "(torch.ops.foo.")
    };
    refused(X, &with("foo.bar.default, x = x"), "return (x,)");
    refused(X, &with("aten.bernoulli_.float, self = x"), "return (x,)");
}

const SIGNED: &str = "ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, b_x: \"f32[4]\", x: \"f32[4]\"):
            LINES
            return (add, neg)

Graph signature:
    # inputs
    b_x: BUFFER target='x' persistent=True
    x: USER_INPUT

    # outputs
    add: KIND target='x'
    neg: USER_OUTPUT
";

fn signed(kind: &str, lines: &str) -> String {
    let lines: Vec<String> =
        lines.lines().map(|l| l.replace("aten.", "torch.ops.aten.").replace("air.", "torch.ops.air.")).collect();
    SIGNED.replace("KIND", kind).replace("LINES", &lines.join("\n            "))
}

#[test]
fn a_buffer_and_an_input_of_one_name_are_two() {
    let lines = "add: \"f32[4]\" = aten.add.Tensor(b_x, 1)\nneg: \"f32[4]\" = aten.neg.default(x)";
    let (buffer, input) = (signed("BUFFER_MUTATION", lines), signed("USER_INPUT_MUTATION", lines));
    assert!(judge_texts(&buffer, &buffer).accepted);
    assert!(!judge_texts(&buffer, &input).accepted);
}

#[test]
fn a_final_copy_of_the_signature_is_a_write_on_the_main_stream() {
    let add = "add: \"f32[4]\" = aten.add.Tensor(x, 1)";
    let beside = |of: &str| {
        format!(
            "e = air.scope_enter.default(['_user_stream_label'], ['s1'])\nneg: \"f32[4]\" = aten.neg.default({of})\nf = air.scope_exit.default()\n{add}"
        )
    };
    let plain = |of: &str| format!("neg: \"f32[4]\" = aten.neg.default({of})\n{add}");
    let judge = |of: &str| judge_texts(&signed("BUFFER_MUTATION", &plain(of)), &signed("BUFFER_MUTATION", &beside(of)));
    assert!(judge("x").accepted);
    assert!(!judge("b_x").accepted);
}

#[test]
fn tensors_of_bodies_are_told_apart() {
    let text = |name: &str| {
        format!(
            "class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[4]\", p: \"b8[]\"):
        t = self.t
        f = self.f
        r = torch.ops.higher_order.cond(p, t, f, (x,))
        o: \"f32[4]\" = r[0]
        return (o,)
    class t(torch.nn.Module):
        def forward(self, a: \"f32[4]\"):
            k: \"f32[4]\" = self.{name}
            r: \"f32[4]\" = torch.ops.aten.add.Tensor(a, k)
            return (r,)
    class f(torch.nn.Module):
        def forward(self, a: \"f32[4]\"):
            r: \"f32[4]\" = torch.ops.aten.neg.default(a)
            return (r,)
"
        )
    };
    assert!(judge_texts(&text("const_a"), &text("const_a")).accepted);
    assert!(!judge_texts(&text("const_a"), &text("const_b")).accepted);
}

#[test]
fn inputs_lie_in_memory_as_the_caller_laid_them() {
    let text = |strides: &str| {
        format!(
            "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[4, 4]{strides}\"):\n        r = torch.ops.aten.neg.default(x)\n        return (r,)\n"
        )
    };
    assert!(judge_texts(&text("[1, 4]"), &text("[1, 4]")).accepted);
    assert!(judge_texts(&text(""), &text("[4, 1]")).accepted);
    assert!(!judge_texts(&text("[1, 4]"), &text("[4, 1]")).accepted);
}

#[test]
fn a_size_that_only_running_tells_may_stand_twice_in_one_result() {
    let lines = "u = aten.unique_dim.default(x, 0)\ng = u[0]\nc = u[2]\nreturn (g, c)";
    same(X, lines, lines);
    refused(X, lines, "u = aten.unique_dim.default(x, 1)\ng = u[0]\nc = u[2]\nreturn (g, c)");
}

#[test]
fn results_of_one_call_may_lie_in_one_memory_and_those_of_two_do_not() {
    let two = "w = aten.where.default(x)\na = w[1]\nv = aten.where.default(x)\nb = v[0]\nreturn (a, b)";
    refused(X, two, "w = aten.where.default(x)\na = w[1]\nb = w[0]\nreturn (a, b)");
    same(X, two, two);
}

#[test]
fn what_gives_a_tensor_another_shape_in_place_is_equal_to_itself_alone() {
    let graph = |call: &str, other: &str| {
        format!("c = aten.clone.default(x)\nt = aten.{call}\nr = aten.{other}.default(y)\nreturn (c, r)")
    };
    for call in [
        "t_.default(c)",
        "squeeze_.default(c)",
        "unsqueeze_.default(c, 0)",
        "set_.source_Tensor(c, y)",
        "t_.default(x)",
    ] {
        let (xy, one) = ("x: f32[4, 4]; y: f32[4, 4]", graph(call, "neg"));
        same(xy, &one, &one);
        same(xy, &one, &one.replace("t = ", "u = "));
        refused(xy, &one, &graph(call, "abs"));
        refused(xy, &one, &one.replace(&format!("t = aten.{call}\n"), ""));
        refused(xy, &one.replace(&format!("t = aten.{call}\n"), ""), &one);
        // What it moves past may read the shape.
        refused(xy, &one, &format!("r = aten.neg.default(y)\n{}", one.replace("r = aten.neg.default(y)\n", "")));
    }
}

#[test]
fn what_may_lie_in_written_memory_has_a_say_only_where_it_is_read_after_a_write() {
    let x = "x: f32[2, s0]";
    let lines =
        |c: &str, middle: &str| format!("{c}w = aten.add_.Tensor(x, 1)\n{middle}r = aten.neg.default(x)\nreturn (r,)");
    let c = "c = aten.contiguous.default(x)\n";
    same(x, &lines(c, ""), &lines("", ""));
    same(x, &lines("", ""), &lines(c, ""));
    same(x, &lines(&format!("{c}d = aten.abs.default(c)\n"), ""), &lines("", ""));
    let two = "w = aten.add_.Tensor(x, 1)\nd = aten.abs.default(c)\nreturn (d,)";
    same(x, &format!("{c}{two}"), &format!("{c}{two}"));
    refused(x, &format!("{c}{two}"), &two.replace("d = ", &format!("{c}d = ")));
    refused(x, &format!("{c}{two}"), &format!("c = aten.clone.default(x)\n{two}"));
    let through = "c = aten.contiguous.default(x)\nw = aten.add_.Tensor(c, 1)\nr = aten.neg.default(x)\nreturn (r,)";
    same(x, through, through);
    refused(x, through, "r = aten.neg.default(x)\nreturn (r,)");
    // What may lie in what may lie in it.
    let chain = |c: &str| {
        format!("{c}e = aten.contiguous.default(c)\nw = aten.add_.Tensor(x, 1)\nd = aten.abs.default(e)\nreturn (d,)")
    };
    same(x, &chain(c), &chain(c));
    refused(x, &chain(c), &chain("c = aten.clone.default(x)\n"));
}

#[test]
fn what_is_written_by_name_keeps_its_shape_only_where_that_is_the_results() {
    let lines = |out: &str, last: &str| {
        format!("m = aten.{out}.default(y)\na = aten.atan2.out(x, x, out = m)\n{last}return (r,)")
    };
    let (xy, plain, copied) = (
        "x: f32[1, 3]; y: f32[1, 3]",
        "r = aten.neg.default(m)\n",
        "c = aten.reshape.default(m, [])\nr = aten.neg.default(c)\n",
    );
    same(xy, &lines("neg", plain), &lines("neg", "c = aten.alias.default(m)\nr = aten.neg.default(c)\n"));
    same(xy, &lines("mean", plain), &lines("mean", plain));
    refused(xy, &lines("mean", plain), &lines("mean", copied));
}
