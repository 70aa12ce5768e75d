//! Collectives. A group is named as its members are: by tag and ranks, or by the name that the graph gives it; who runs the graph opens it.

use super::args::Args;
use super::cx::Cx;
use super::direct;
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::Value;

use Rule::{By, Unary};

pub(super) const TABLE: &[Entry] = &[
    ("_c10d_functional.all_gather_into_tensor.default", By(|cx| all_gather(cx, "input group_size group_name"))),
    ("_c10d_functional.all_reduce.default", By(|cx| all_reduce(cx, "input reduce_op group_name"))),
    ("_c10d_functional.broadcast.default", By(|cx| broadcast(cx, "input src group_name"))),
    (
        "_c10d_functional.reduce_scatter_tensor.default",
        By(|cx| reduce_scatter(cx, "input reduce_op group_size group_name")),
    ),
    ("_c10d_functional.wait_tensor.default", Unary("Identity")),
    ("c10d_functional.all_gather_into_tensor.default", By(|cx| all_gather(cx, "input tag ranks group_size"))),
    ("c10d_functional.all_reduce.default", By(|cx| all_reduce(cx, "input reduce_op tag ranks group_size"))),
    (
        "c10d_functional.reduce_scatter_tensor.default",
        By(|cx| reduce_scatter(cx, "input reduce_op tag ranks group_size")),
    ),
    ("c10d_functional.wait_tensor.default", Unary("Identity")),
    ("npu_define._recv.default", By(receive)),
    ("npu_define._send.default", By(send)),
    ("npu_define.all_to_all_single_npu.default", By(all_to_all)),
    ("npu_define.broadcast.default", By(|cx| broadcast(cx, "input src tag ranks group_size group_src"))),
];

/// Returns the group's name.
fn group(args: &Args, tag: &str) -> Result<(&'static str, Attr), Refusal> {
    let name = match args.get("group_name") {
        Value::Str(name) => name.to_string(),
        _ => {
            let Some(ranks) = args.ints("ranks")? else {
                return Err(Refusal("the ranks of the group are missing".into()));
            };
            let ranks: Vec<String> = ranks.iter().map(ToString::to_string).collect();
            format!("tag={};rank_list={}", args.text(tag)?, ranks.join(","))
        }
    };
    Ok(("group", Attr::Str(name)))
}

fn reduction(args: &Args) -> Result<(&'static str, Attr), Refusal> {
    let word = match args.text("reduce_op")?.to_uppercase().as_str() {
        "SUM" => "sum",
        "MIN" => "min",
        "MAX" => "max",
        "PRODUCT" => "prod",
        other => return Err(Refusal(format!("a reduction by {other} is not supported"))),
    };
    Ok(("reduction", Attr::Str(word.into())))
}

fn all_reduce(cx: &mut Cx, signature: &str) -> Made {
    let args = Args::of(cx, signature)?;
    let attrs = [reduction(&args)?, group(&args, "tag")?, ("fusion", Attr::Int(0))];
    direct::make(cx, &args, "HcomAllReduce(input)", &attrs)
}

fn all_gather(cx: &mut Cx, signature: &str) -> Made {
    let args = Args::of(cx, signature)?;
    let group = group(&args, "tag")?;
    direct::make(cx, &args, "HcomAllGather(input; rank_size=group_size)", &[group])
}

fn reduce_scatter(cx: &mut Cx, signature: &str) -> Made {
    let args = Args::of(cx, signature)?;
    let attrs = [reduction(&args)?, group(&args, "tag")?];
    direct::make(cx, &args, "HcomReduceScatter(input; rank_size=group_size)", &attrs)
}

/// Returns the rank within the group: given as such, or by its place among the ranks.
fn rank_in_group(args: &Args, name: &str, in_group: &str) -> Result<i64, Refusal> {
    if let Some(rank) = args.int(in_group)? {
        return Ok(rank);
    }
    let rank = args.int(name)?.ok_or_else(|| Refusal(format!("argument {name} is missing")))?;
    match args.ints("ranks")? {
        None => Ok(rank),
        Some(ranks) => {
            let place = ranks.iter().position(|r| *r == rank);
            place.map(super::cx::signed).ok_or_else(|| Refusal(format!("rank {rank} is not in the group")))
        }
    }
}

fn broadcast(cx: &mut Cx, signature: &str) -> Made {
    let args = Args::of(cx, signature)?;
    let root = rank_in_group(&args, "src", "group_src")?;
    let attrs = [("root_rank", Attr::Int(root)), group(&args, "tag")?, ("fusion", Attr::Int(0))];
    direct::make(cx, &args, "HcomBroadcast(input)", &attrs)
}

/// Whether each rank sends and is sent one part of as many as there are, in order. TorchAir asks that the counts be one number, and no more.
fn are_equal_parts(cx: &Cx, args: &Args) -> Result<bool, Refusal> {
    let (Some(sizes), Some(ranks)) = (cx.fixed_sizes(args.tensor("input")?)?, args.ints("ranks")?) else {
        return Ok(false);
    };
    let (count, all) = (super::cx::signed(ranks.len()), sizes.iter().product::<i64>());
    let Some(part) = all.checked_div(count).filter(|part| part.saturating_mul(count) == all) else { return Ok(false) };
    let starts: Vec<i64> = (0..count).map(|rank| rank.saturating_mul(part)).collect();
    let parts = vec![part; ranks.len()];
    let is = |name: &str, wanted: &[i64]| Ok::<_, Refusal>(fixed_ints(args, name)?.is_some_and(|own| own == wanted));
    Ok(is("send_counts", &parts)?
        && is("recv_counts", &parts)?
        && is("send_displacements", &starts)?
        && is("recv_displacements", &starts)?)
}

/// The numbers of an argument; none where it is a tensor, or holds one.
fn fixed_ints(args: &Args, name: &str) -> Result<Option<Vec<i64>>, Refusal> {
    match args.get(name) {
        Value::List(items) if items.iter().all(|i| matches!(i, Value::Int(_))) => args.ints(name),
        _ => Ok(None),
    }
}

fn all_to_all(cx: &mut Cx) -> Made {
    let signature = "input send_counts send_displacements recv_counts recv_displacements tag ranks group_size out";
    let mut args = Args::of(cx, signature)?;
    let group = group(&args, "tag")?;
    let made = if cx.b.exchanges_equals && are_equal_parts(cx, &args)? {
        direct::outputs(cx, &args, "HcomAllToAll(input)", &[group])?
    } else {
        for name in ["send_counts", "send_displacements", "recv_counts", "recv_displacements"] {
            let value = args.get(name);
            let counts = cx.cast(value, DataType::Int64)?;
            args.set(name, counts);
        }
        direct::outputs(cx, &args, "HcomAllToAllV(input, *)", &[group])?
    };
    made.iter().for_each(|t| cx.b.keep(*t));
    Ok(made.first().map_or(Value::None, |t| Value::Tensor(*t)))
}

fn send(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "tensor dst ranks pg_tag= tag=0 group_dst shape")?;
    let to = rank_in_group(&args, "dst", "group_dst")?;
    let attrs = [("dest_rank", Attr::Int(to)), group(&args, "pg_tag")?];
    let made = direct::make(cx, &args, "HcomSend(tensor; sr_tag=tag)", &attrs)?;
    if let Some(op) = cx.b.ops.last_mut() {
        op.attrs.insert("_force_skip_prune", crate::lower::ge::proto::Value::B(true));
    }
    Ok(made)
}

fn receive(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "tensor src ranks pg_tag= tag=0 group_src shape")?;
    let from = rank_in_group(&args, "src", "group_src")?;
    let dtype = cx.dtype(args.tensor("tensor")?);
    let attrs = [
        ("src_rank", Attr::Int(from)),
        group(&args, "pg_tag")?,
        ("sr_tag", Attr::Int(args.int("tag")?.unwrap_or(0))),
        ("shape", Attr::Ints(args.ints("shape")?.unwrap_or_default())),
        ("dtype", Attr::Type(dtype)),
    ];
    let made = cx.op("HcomReceive", Vec::<In>::new(), &attrs)?;
    cx.b.keep(made);
    Ok(made.into())
}
