//! Which rule types which operator: the families' tables, and rules that follow from a schema alone.
//!
//! A schema alone says the type where nothing is returned, and where every result is an argument that is written (`add_`).

use smallvec::SmallVec;

use super::bind::Bound;
use super::call::Call;
use super::effects::{Effects, Sharing};
use super::error::Fault;
use super::operator::Rule;
use super::schema::Schema;
use super::*;
use crate::graph::{Arg, TensorType, ValueType};

/// A rule and the operators that it types.
pub(super) type Entry = (Rule, &'static [&'static str]);

/// Every entry of every family. A later one wins.
pub(super) fn families() -> impl Iterator<Item = &'static Entry> {
    [
        pointwise::RULES,
        compare::RULES,
        create::RULES,
        view::RULES,
        split::RULES,
        reduce::RULES,
        sort::RULES,
        matmul::RULES,
        norm::RULES,
        conv::RULES,
        pool::RULES,
        movement::RULES,
        index::RULES,
        random::RULES,
        attention::RULES,
        symbolic::RULES,
        stream::RULES,
        control::RULES,
        npu::RULES,
        npu_attention::RULES,
        npu_cache::RULES,
        npu_moe::RULES,
        npu_quant::RULES,
        foreach::RULES,
        gradient::RULES,
    ]
    .into_iter()
    .flatten()
}

/// Returns the rule that a schema implies.
pub(super) fn default_rule(schema: &Schema, effects: &Effects) -> Option<Rule> {
    let in_place =
        |r: &smallvec::SmallVec<_>| matches!(r.as_slice(), [effects::ReturnAlias { sharing: Sharing::Same, .. }]);
    match (&*schema.returns, &*effects.returns) {
        ([], _) => Some(nothing),
        ([_], [one]) if in_place(one) => Some(its_argument),
        _ => None,
    }
}

fn nothing(_: &mut Call<'_>) -> Result<ValueType, Fault> {
    Ok(ValueType::None)
}

/// The written argument itself.
fn its_argument(c: &mut Call<'_>) -> Result<ValueType, Fault> {
    let returned = c.operator.effects.returns.first().and_then(|r| r.first()).map_or(0, |r| r.param);
    match c.arg(returned) {
        Arg::Node(n) => {
            let t = c.tensor(returned)?;
            holds_result(c, returned, t)?;
            Ok(c.view.ty(*n).clone())
        }
        other => Err(c.wrong_kind(returned, "a tensor", other)),
    }
}

/// Checks that the written argument can hold what the functional form of a pointwise operator gives (`add` of `add_`): it
/// is not broadcast, and its dtype is not of a lower category.
fn holds_result(c: &mut Call<'_>, i: usize, t: &TensorType) -> Result<(), Fault> {
    let schema = &c.operator.schema;
    let Some(name) = schema.name.strip_suffix('_') else { return Ok(()) };
    let overload = if schema.overload.is_empty() { "default" } else { &schema.overload };
    let sibling = c.registry.get(&format!("{}.{name}.{overload}", schema.namespace));
    let Some(sibling) = sibling.filter(|s| s.pointwise && s.schema.params.len() == schema.params.len()) else {
        return Ok(());
    };
    let Some(rule) = sibling.rule else { return Ok(()) };
    let result = {
        let args = c.bound.args.iter().map(|a| &**a).collect();
        let (bound, symbols) = (Bound { args, extra: SmallVec::new() }, &mut *c.symbols);
        rule(&mut Call { operator: sibling, registry: c.registry, bound, view: c.view, symbols, annotated: None })?
    };
    let Some(result) = result.as_tensor() else { return Ok(()) };
    let fits =
        result.rank() == t.rank() && !result.sizes.iter().zip(&t.sizes).any(|(a, b)| sizes::differ(c.symbols, *a, *b));
    if !fits {
        let (own, wanted) = (sizes::show(c.symbols, &t.sizes), sizes::show(c.symbols, &result.sizes));
        return Err(c.bad(i, format!("the sizes {wanted} of the result"), own));
    }
    if promote::category(result.dtype) > promote::category(t.dtype) {
        let expected = format!("a dtype that holds the result's {}", result.dtype.long());
        return Err(c.bad(i, expected, t.dtype.long()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Registry;
    use crate::graph::{Arg, BodyId, Device, Dtype, Graph, NewNode, NodeKind, TensorType, ValueType};
    use crate::sym::Dim;

    fn infer(target: &str, operands: &[(Dtype, &[i64])]) -> Result<ValueType, String> {
        let mut g = Graph::new();
        let mut args: Vec<Arg> = Vec::new();
        for (dtype, dims) in operands {
            let ty = TensorType::new(*dtype, dims.iter().map(|d| Dim::Fixed(*d)), Device::cpu());
            let (kind, target, ty) = (NodeKind::Placeholder, g.texts.intern("x"), ValueType::tensor(ty));
            let node = NewNode { kind, target, args: Box::default(), kwargs: Box::default(), ty };
            args.push(Arg::Node(g.push(BodyId::ROOT, "x", node)));
        }
        Registry::standard().infer(&mut g, target, &args, &[]).map_err(|e| e.to_string())
    }

    #[test]
    fn an_in_place_operator_takes_what_its_argument_can_hold_and_nothing_else() {
        assert!(infer("aten.add_.Tensor", &[(Dtype::F32, &[2, 3]), (Dtype::F32, &[3])]).is_ok());
        assert!(infer("aten.add_.Tensor", &[(Dtype::F32, &[2, 3]), (Dtype::I64, &[3])]).is_ok());
        assert_eq!(
            infer("aten.add_.Tensor", &[(Dtype::F32, &[3]), (Dtype::F32, &[2, 3])]).unwrap_err(),
            "`aten.add_.Tensor`: argument `self`: expected the sizes [2, 3] of the result, found [3]"
        );
        assert_eq!(
            infer("aten.add_.Tensor", &[(Dtype::I64, &[3]), (Dtype::F32, &[3])]).unwrap_err(),
            "`aten.add_.Tensor`: argument `self`: expected a dtype that holds the result's float32, found int64"
        );
    }

    #[test]
    fn what_nobody_described_is_not_typed_and_says_what_to_do() {
        assert_eq!(
            infer("demo.magic.default", &[]).unwrap_err(),
            "`demo.magic.default`: nobody described this operator; describe it in an operator file (`--ops FILE`)"
        );
        let x: &[i64] = &[3];
        assert!(
            infer("npu.npu_convert_weight_to_int4pack.default", &[(Dtype::I32, x)]).unwrap_err().contains("no rule")
        );
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused_where_that_is_sure() {
        assert_eq!(
            infer("aten.mm.default", &[(Dtype::F32, &[2, 3]), (Dtype::F32, &[4, 5])]).unwrap_err(),
            "`aten.mm.default`: argument `mat2`: expected as many rows as the first has columns: 3, found 4"
        );
        assert!(infer("aten.add.Tensor", &[(Dtype::F32, &[2, 3]), (Dtype::F32, &[2])]).is_err());
        assert!(infer("aten.add.Tensor", &[(Dtype::F32, &[2, 3]), (Dtype::F32, &[2, 1])]).is_ok());
    }
}
