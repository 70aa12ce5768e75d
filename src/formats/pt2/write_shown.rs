//! Types as they were annotated: a value whose annotation was kept for printing is written with the sizes that it shows.
//!
//! A type rule may know more than the file says (`2` where it says `s77//(s77//2)`). Both are right, but a program that nobody edited
//! should read again, and print, as it was. Where the kept text is not of the type's form the type stands.

use smallvec::SmallVec;

use super::write_program::Writer;
use crate::graph::{NodeId, TensorType, ValueType};
use crate::sym::{Dim, SymValue, Symbols};

impl Writer<'_> {
    /// Returns the type that the annotation of `node` shows, or `ty`.
    pub(super) fn shown(&mut self, node: NodeId, ty: &ValueType) -> ValueType {
        let shown = self.graph.printed(node).and_then(|text| annotated(&mut self.symbols, text, ty));
        shown.unwrap_or_else(|| ty.clone())
    }
}

fn annotated(symbols: &mut Symbols, text: &str, ty: &ValueType) -> Option<ValueType> {
    if let ValueType::Tensor(tensor) = ty {
        let sizes = sizes(symbols, text, tensor)?;
        return Some(ValueType::tensor(TensorType { sizes, ..(**tensor).clone() }));
    }
    let value = symbols.parse_python(text.strip_prefix("Sym(")?.strip_suffix(')')?).ok()?;
    match (value, ty) {
        (SymValue::Int(dim), ValueType::SymInt(_)) => Some(ValueType::SymInt(dim)),
        (SymValue::Float(float), ValueType::SymFloat(_)) => Some(ValueType::SymFloat(float.into())),
        (SymValue::Bool(truth), ValueType::SymBool(_)) => Some(ValueType::SymBool(truth.into())),
        _ => None,
    }
}

/// Returns the sizes of `f32[s77, 2]`, where there are as many as the tensor has.
fn sizes(symbols: &mut Symbols, text: &str, tensor: &TensorType) -> Option<SmallVec<[Dim; 4]>> {
    let (inner, _) = text.strip_prefix(tensor.dtype.short())?.strip_prefix('[')?.split_once(']')?;
    let mut depth = 0_usize;
    let parts = inner.split(|c: char| {
        match c {
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    let sizes: Option<SmallVec<[Dim; 4]>> =
        parts.filter(|p| !p.trim().is_empty()).map(|p| symbols.parse_dim(p.trim()).ok()).collect();
    sizes.filter(|s| s.len() == tensor.rank())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Device, Dtype};

    #[test]
    fn an_annotation_gives_the_sizes_that_it_shows_and_another_form_none() {
        let mut symbols = Symbols::new();
        let two = TensorType::new(Dtype::F32, [3.into(), 2.into()], Device::cpu());
        let read = |symbols: &mut Symbols, text: &str| sizes(symbols, text, &two);
        let shown = read(&mut symbols, "f32[Max(3, s77), (s77//((s77//2)))][2, 1]cpu").unwrap();
        assert_eq!(symbols.print_python(shown[0]), "Max(3, s77)");
        assert_eq!(symbols.print_python(shown[1]), "(s77//((s77//2)))");
        assert!(read(&mut symbols, "f32[3]").is_none());
        assert!(read(&mut symbols, "f16[3, 2]").is_none());
        assert!(read(&mut symbols, "f32[3, 2").is_none());
    }
}
