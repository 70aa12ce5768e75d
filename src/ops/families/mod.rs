//! Which rule types which operator: the families' tables, and rules that follow from a schema alone.
//!
//! A schema alone says the type where nothing is returned, and where every result is an argument that is written (`add_`).

pub(in crate::ops) mod attention;
pub(in crate::ops) mod compare;
pub(in crate::ops) mod control;
pub(in crate::ops) mod conv;
pub(in crate::ops) mod create;
pub(in crate::ops) mod ctc;
mod detection;
pub(in crate::ops) mod einsum;
pub(in crate::ops) mod foreach;
pub(in crate::ops) mod fourier;
pub(in crate::ops) mod gradient;
pub(in crate::ops) mod index;
pub(in crate::ops) mod linalg;
pub(in crate::ops) mod matmul;
pub(in crate::ops) mod movement;
pub(in crate::ops) mod needs;
pub(in crate::ops) mod norm;
pub(in crate::ops) mod npu;
pub(in crate::ops) mod npu_attention;
pub(in crate::ops) mod npu_cache;
pub(in crate::ops) mod npu_moe;
pub(in crate::ops) mod npu_quant;
pub(in crate::ops) mod pointwise;
pub(in crate::ops) mod pool;
pub(in crate::ops) mod random;
pub(in crate::ops) mod reduce;
pub(in crate::ops) mod sort;
pub(in crate::ops) mod split;
pub(in crate::ops) mod stream;
pub(in crate::ops) mod symbolic;
pub(in crate::ops) mod view;

use smallvec::SmallVec;

use crate::graph::{Arg, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::facts::effects;
use crate::ops::facts::effects::{Effects, Sharing};
use crate::ops::registry::operator::Rule;
use crate::ops::schema::Schema;
use crate::ops::schema::bind::Bound;
use crate::ops::typing::call::Call;
use crate::ops::typing::require;
use crate::ops::typing::require::overlaps_itself;
use crate::ops::typing::{promote, sizes};

/// A rule and the operators that it types.
pub(super) type Entry = (Rule, &'static [&'static str]);

/// Every entry of every family. A later one wins.
pub(super) fn families() -> impl Iterator<Item = &'static Entry> {
    [
        pointwise::RULES,
        compare::RULES,
        create::RULES,
        ctc::RULES,
        detection::RULES,
        view::RULES,
        split::RULES,
        reduce::RULES,
        sort::RULES,
        linalg::RULES,
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
        einsum::RULES,
        fourier::RULES,
    ]
    .into_iter()
    .flatten()
}

/// Every need of every family: what calls must fulfil before their rule is asked.
pub(super) fn needs() -> impl Iterator<Item = &'static require::Entry> {
    [
        needs::attention::NEEDS,
        needs::compare::NEEDS,
        needs::conv::NEEDS,
        needs::create::NEEDS,
        needs::einsum::NEEDS,
        needs::foreach::NEEDS,
        needs::fourier::NEEDS,
        needs::gradient::NEEDS,
        needs::index::NEEDS,
        needs::matmul::NEEDS,
        needs::movement::NEEDS,
        needs::norm::NEEDS,
        needs::pointwise::NEEDS,
        needs::pool::NEEDS,
        needs::random::NEEDS,
        needs::reduce::NEEDS,
        needs::sort::NEEDS,
        needs::symbolic::NEEDS,
        needs::view::NEEDS,
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

fn nothing(_: &mut Call<'_>) -> Result<ValueType, CallFault> {
    Ok(ValueType::None)
}

/// The written argument itself, after checking that it can take what is written.
fn its_argument(c: &mut Call<'_>) -> Result<ValueType, CallFault> {
    let returned = c.operator.effects.returns.first().and_then(|r| r.first()).map_or(0, |r| r.param);
    match c.arg(returned) {
        Arg::Node(n) => {
            let t = c.tensor(returned)?;
            let ty = c.view.ty(*n).clone();
            if !OVERLAP.contains(&&*c.operator.target) && overlaps_itself(c, t) {
                let strides = sizes::show(c.symbols, t.strides.as_deref().unwrap_or_default());
                return Err(c.bad(returned, "a tensor of which each element has its own place", strides));
            }
            let Some(result) = functional_result(c)? else { return Ok(ty) };
            match c.operator.schema.name.ends_with('_') {
                true => holds(c, returned, t, &result).map(|()| ty),
                false => resized(c, returned, t, &result),
            }
        }
        other => Err(c.wrong_kind(returned, "a tensor", other)),
    }
}

/// Operators that may write several elements in one place.
const OVERLAP: &[&str] = &[
    "aten.fill_.Scalar",
    "aten.zero_.default",
    "aten.embedding_renorm_.default",
    "aten.masked_fill_.Scalar",
    "aten.masked_fill_.Tensor",
    "aten.baddbmm_.default",
    "aten.index_put_.default",
    "aten.index_fill_.int_Scalar",
    "aten.index_fill_.int_Tensor",
    "aten._index_put_impl_.default",
    "aten.threshold_.default",
    "aten.tril_.default",
    "aten.triu_.default",
    "aten.dropout_.default",
];

/// Returns what the functional form of this call gives.
fn functional_result(c: &mut Call<'_>) -> Result<Option<TensorType>, CallFault> {
    let Some(sibling) = c.registry.functional(c.operator) else { return Ok(None) };
    let schema = &sibling.schema;
    // Of an `out` form the functional one lacks the last parameters.
    if c.bound.args.len() < schema.params.len() {
        return Ok(None);
    }
    let args = c.bound.args.iter().take(schema.params.len()).copied().collect();
    let (bound, symbols) = (Bound { args, extra: SmallVec::new() }, &mut *c.symbols);
    let mut call = Call {
        operator: sibling,
        registry: c.registry,
        bound,
        view: c.view,
        symbols,
        annotated: None,
        consulted: Default::default(),
    };
    match call.infer() {
        Ok(ty) => Ok(ty.as_tensor().cloned()),
        Err(fault) if fault.is_ignorance() => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Checks that the written argument holds the result: it is not broadcast, and its dtype is not of a lower category.
fn holds(c: &Call<'_>, i: usize, t: &TensorType, result: &TensorType) -> Result<(), CallFault> {
    if !c.can_equal(&result.sizes, &t.sizes) {
        let (own, wanted) = (sizes::show(c.symbols, &t.sizes), sizes::show(c.symbols, &result.sizes));
        return Err(c.bad(i, format!("the sizes {wanted} of the result"), own));
    }
    let told = c.operator.schema.param_index("dtype").map_or(Ok(None), |p| c.dtype(p))?;
    let other = told.is_some_and(|d| d != t.dtype);
    if other || promote::category(result.dtype) > promote::category(t.dtype) {
        let expected = format!("a dtype that holds the result's {}", result.dtype.long());
        return Err(c.bad(i, expected, t.dtype.long()));
    }
    Ok(())
}

/// An `out` argument takes the sizes of the result, its own layout where it has them already. Only what works element by element casts.
fn resized(c: &mut Call<'_>, i: usize, t: &TensorType, result: &TensorType) -> Result<ValueType, CallFault> {
    let casts = c.registry.functional(c.operator).is_some_and(|s| s.pointwise || &*s.schema.name == "cat");
    let fits = match casts {
        true => promote::category(result.dtype) <= promote::category(t.dtype),
        false => result.dtype == t.dtype,
    };
    if !fits {
        return Err(c.bad(i, format!("a dtype that holds the result's {}", result.dtype.long()), t.dtype.long()));
    }
    if sizes::all_same(c.symbols, &t.sizes, &result.sizes) {
        return Ok(ValueType::tensor(t.clone()));
    }
    let (sizes, strides) = (result.sizes.clone(), result.strides.clone());
    Ok(ValueType::tensor(TensorType { sizes, strides, ..t.clone() }))
}

#[cfg(test)]
mod tests {
    use crate::graph::{Arg, BodyId, Device, Dtype, Graph, NewNode, NodeKind, TensorType, ValueType};
    use crate::ops::Registry;
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

    /// Types a call of two tensors, the first stretched along dimension 0.
    fn infer_stretched(target: &str) -> Result<ValueType, String> {
        let mut g = Graph::new();
        let sizes = [Dim::Fixed(3), Dim::Fixed(2)];
        let t = TensorType::new(Dtype::F32, sizes, Device::cpu());
        let stretched = TensorType { strides: Some(smallvec::smallvec![Dim::Fixed(0), Dim::Fixed(1)]), ..t.clone() };
        let mut args = Vec::new();
        for ty in [stretched, t] {
            let (kind, target, ty) = (NodeKind::Placeholder, g.texts.intern("x"), ValueType::tensor(ty));
            let node = NewNode { kind, target, args: Box::default(), kwargs: Box::default(), ty };
            args.push(Arg::Node(g.push(BodyId::ROOT, "x", node)));
        }
        Registry::standard().infer(&mut g, target, &args, &[]).map_err(|e| e.to_string())
    }

    #[test]
    fn nothing_is_written_twice_into_one_place() {
        assert!(infer_stretched("aten.add.Tensor").is_ok());
        assert_eq!(
            infer_stretched("aten.add_.Tensor").unwrap_err(),
            "`aten.add_.Tensor`: argument `self`: expected a tensor of which each element has its own place, found [0, 1]"
        );
    }

    #[test]
    fn what_an_operator_needs_is_asked_of_its_in_place_form_too() {
        let shapes: &[(Dtype, &[i64])] = &[(Dtype::I64, &[2, 3]), (Dtype::I64, &[2, 3])];
        assert!(infer("aten.floor_divide_.Tensor", shapes).is_ok());
        assert!(infer("aten.addcdiv_.default", &[shapes[0], shapes[0], shapes[0]]).is_err());
        assert!(infer("aten.pow_.Tensor", &[(Dtype::I64, &[3]), (Dtype::F32, &[3])]).is_err());
    }

    #[test]
    fn a_reduction_without_identity_needs_an_element_where_it_reduces() {
        assert!(infer("aten.max.default", &[(Dtype::F32, &[2, 3])]).is_ok());
        assert!(infer("aten.max.default", &[(Dtype::F32, &[2, 0])]).is_err());
        assert!(infer("aten.sum.default", &[(Dtype::F32, &[2, 0])]).is_ok());
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
