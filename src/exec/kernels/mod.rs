//! Which kernel computes which operator: the families' tables.

mod activation;
mod arithmetic;
mod attention;
mod batch_norm;
mod binary;
mod bitwise;
mod class_loss;
mod compare;
mod complex;
mod contract;
mod conv;
mod conv_columns;
mod copy;
mod create;
mod ctc;
mod detection;
mod distance;
mod distributions;
mod division;
mod dropout;
mod elementary;
mod extrema;
mod fft;
mod foreach;
mod gradient;
mod gradient_norm;
mod gradient_window;
mod grid_sample;
mod index;
mod linalg;
mod loss;
mod matmul;
mod moments;
mod movement;
mod norm;
mod npu;
mod npu_cache;
mod pool;
mod pool_fractional;
mod power;
mod python;
mod quant;
mod random;
mod recurrent;
mod reduce;
mod resample;
mod resample_taps;
mod scan;
mod search;
mod select;
mod softmax;
mod sort;
mod stream;
mod symbolic;
mod ternary;
mod unary;
mod unique;
mod view;

use rustc_hash::FxHashMap;

use crate::exec::call::cx::Cx;
use crate::exec::tensor::value::Value;
use crate::ops::CallFault;

/// Computes a call whose arguments are bound and whose result is typed.
pub type Kernel = fn(&mut Cx<'_, '_, '_>) -> Result<Value, CallFault>;

/// A kernel and the operators that it computes.
pub(super) type Entry = (Kernel, &'static [&'static str]);

/// Kernels by target.
#[derive(Clone, Debug, Default)]
pub struct Kernels {
    by_target: FxHashMap<&'static str, Kernel>,
}

/// Every entry of every family. Promise: a target stands in one.
fn families() -> impl Iterator<Item = &'static Entry> {
    [
        activation::KERNELS,
        arithmetic::KERNELS,
        attention::KERNELS,
        batch_norm::KERNELS,
        binary::KERNELS,
        bitwise::KERNELS,
        class_loss::KERNELS,
        compare::KERNELS,
        complex::KERNELS,
        contract::KERNELS,
        conv::KERNELS,
        copy::KERNELS,
        create::KERNELS,
        ctc::KERNELS,
        detection::KERNELS,
        distance::KERNELS,
        distributions::KERNELS,
        division::KERNELS,
        dropout::KERNELS,
        elementary::KERNELS,
        extrema::KERNELS,
        fft::KERNELS,
        foreach::KERNELS,
        gradient::KERNELS,
        grid_sample::KERNELS,
        index::ADVANCED,
        index::BAGS,
        index::EMBEDDING,
        index::LINES,
        index::MASKED,
        index::ROWS,
        gradient_norm::KERNELS,
        gradient_window::KERNELS,
        linalg::KERNELS,
        loss::KERNELS,
        matmul::KERNELS,
        moments::KERNELS,
        movement::JOIN,
        movement::PAD,
        movement::REARRANGE,
        movement::TRIANGLE,
        movement::WINDOW,
        norm::KERNELS,
        npu::KERNELS,
        npu_cache::KERNELS,
        pool::KERNELS,
        pool_fractional::KERNELS,
        power::KERNELS,
        python::KERNELS,
        quant::KERNELS,
        random::KERNELS,
        recurrent::KERNELS,
        reduce::KERNELS,
        resample::KERNELS,
        scan::KERNELS,
        search::KERNELS,
        softmax::KERNELS,
        select::KERNELS,
        sort::KERNELS,
        stream::KERNELS,
        symbolic::KERNELS,
        ternary::KERNELS,
        unary::KERNELS,
        unique::KERNELS,
        view::COMPLEX,
        view::IN_PLACE,
        view::PLAIN,
    ]
    .into_iter()
    .flatten()
}

impl Kernels {
    /// Returns every kernel of this crate.
    pub fn standard() -> Kernels {
        let mut by_target = FxHashMap::default();
        for (kernel, targets) in families() {
            by_target.extend(targets.iter().map(|t| (*t, *kernel)));
        }
        Kernels { by_target }
    }

    /// Returns the kernel of a target; in-place and `out` forms mostly have none and run their functional form.
    pub fn get(&self, target: &str) -> Option<Kernel> {
        self.by_target.get(target).copied()
    }

    /// Returns the same without the kernel of one target, which then runs in other operators.
    pub fn without(&self, target: &str) -> Kernels {
        let mut rest = self.clone();
        rest.by_target.remove(target);
        rest
    }

    /// Returns the targets that have a kernel of their own, in no meaningful order.
    pub fn targets(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.by_target.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Registry;

    #[test]
    fn every_kernel_names_an_operator_of_the_registry() {
        let registry = Registry::standard();
        let mut unknown: Vec<_> = Kernels::standard().targets().filter(|t| registry.get(t).is_none()).collect();
        unknown.sort_unstable();
        assert!(unknown.is_empty(), "kernels of operators without schema: {unknown:?}");
    }
}
