//! What callers use of [`Symbols`]: arithmetic, reading and printing, evaluation, translation.

use super::arith::{self, Extreme};
use super::convert;
use super::error::SymError;
use super::eval::{Bindings, Evaluator, Number};
use super::expr::{BitOperator, Comparison, Dim, Expr, ExprId, SymBool, SymFloat, SymValue};
use super::express;
use super::logic;
use super::print;
use super::python;
use super::rebuild::Rebuild;
use super::srepr;
use super::store::{Arena, Symbols};

type Made<T> = Result<T, SymError>;

/// Arithmetic; all results are canonical, all errors typed. See [`SymError`].
impl Symbols {
    /// `a + b`.
    pub fn add(&mut self, a: Dim, b: Dim) -> Made<Dim> {
        arith::add(self, a, b)
    }

    /// `a - b`.
    pub fn sub(&mut self, a: Dim, b: Dim) -> Made<Dim> {
        arith::sub(self, a, b)
    }

    /// `-a`.
    pub fn neg(&mut self, a: Dim) -> Made<Dim> {
        arith::neg(self, a)
    }

    /// `a * b`.
    pub fn mul(&mut self, a: Dim, b: Dim) -> Made<Dim> {
        arith::mul(self, a, b)
    }

    /// `a // b`, rounded down.
    pub fn floordiv(&mut self, a: Dim, b: Dim) -> Made<Dim> {
        arith::floordiv(self, a, b)
    }

    /// `a // b` rounded up, for positive `b`: `(a + b - 1) // b`.
    pub fn ceildiv(&mut self, a: Dim, b: Dim) -> Made<Dim> {
        arith::ceildiv(self, a, b)
    }

    /// `a % b`, with the sign of `b`.
    pub fn modulo(&mut self, a: Dim, b: Dim) -> Made<Dim> {
        arith::modulo(self, a, b)
    }

    /// `a ** b`, for `b` that is not negative.
    pub fn pow(&mut self, a: Dim, b: Dim) -> Made<Dim> {
        arith::power(self, a, b)
    }

    /// The lesser of two.
    pub fn min(&mut self, a: Dim, b: Dim) -> Made<Dim> {
        arith::extreme(self, Extreme::Min, &[a, b])
    }

    /// The greater of two.
    pub fn max(&mut self, a: Dim, b: Dim) -> Made<Dim> {
        arith::extreme(self, Extreme::Max, &[a, b])
    }

    /// `a << b`.
    pub fn shift_left(&mut self, a: Dim, b: Dim) -> Made<Dim> {
        arith::shift_left(self, a, b)
    }

    /// `a >> b`.
    pub fn shift_right(&mut self, a: Dim, b: Dim) -> Made<Dim> {
        arith::shift_right(self, a, b)
    }

    /// `a & b`, `a | b`, `a ^ b`.
    pub fn bitwise(&mut self, operator: BitOperator, a: Dim, b: Dim) -> Made<Dim> {
        arith::bitwise(self, operator, a, b)
    }

    /// The sum of many.
    pub fn sum(&mut self, dims: &[Dim]) -> Made<Dim> {
        arith::sum(self, dims)
    }

    /// The product of many: the number of elements of a shape.
    pub fn product(&mut self, dims: &[Dim]) -> Made<Dim> {
        dims.iter().try_fold(Dim::Fixed(1), |product, dim| arith::mul(self, product, *dim))
    }

    /// `a if condition else b`.
    pub fn choose(&mut self, condition: SymBool, a: Dim, b: Dim) -> Made<Dim> {
        logic::choose(self, condition, a, b)
    }

    /// A comparison as a value; [`Symbols::known`] and [`Symbols::decide`] say what is known of it.
    pub fn compare(&mut self, comparison: Comparison, a: Dim, b: Dim) -> Made<SymBool> {
        logic::compare(self, comparison, a, b)
    }

    /// A boolean that is known.
    pub fn constant_bool(&mut self, value: bool) -> Made<SymBool> {
        logic::truth(self, value)
    }

    /// A float that is known.
    pub fn constant_float(&mut self, value: f64) -> Made<SymFloat> {
        logic::constant(self, value)
    }

    /// An integer as a float.
    pub fn to_float(&mut self, a: Dim) -> Made<SymFloat> {
        logic::to_float(self, SymValue::Int(a))
    }

    /// All of these.
    pub fn and(&mut self, operands: &[SymBool]) -> Made<SymBool> {
        logic::and(self, operands)
    }

    /// Any of these.
    pub fn or(&mut self, operands: &[SymBool]) -> Made<SymBool> {
        logic::or(self, operands)
    }

    /// The contrary.
    pub fn not(&mut self, operand: SymBool) -> Made<SymBool> {
        logic::not(self, operand)
    }
}

/// Reading and printing.
impl Symbols {
    /// Reads what PyTorch prints in annotations: `2*s77 + 1`, `(s77//2)`, `u0 >= 2`, `0.5*ToFloat(s77)`. New symbols are made.
    pub fn parse_python(&mut self, text: &str) -> Made<SymValue> {
        let tree = python::tree(text)?;
        convert::value(self, &tree)
    }

    /// Reads an integer expression; another sort is an error.
    pub fn parse_dim(&mut self, text: &str) -> Made<Dim> {
        match self.parse_python(text)? {
            SymValue::Int(dim) => Ok(dim),
            other => Err(SymError::Sort {
                context: "a size".to_owned(),
                expected: "an integer",
                found: text.to_owned(),
                found_sort: other.sort(),
            }),
        }
    }

    /// Reads sympy's `srepr`, as `.pt2` files hold it: `Mul(Integer(2), Symbol('s77', positive=True, integer=True))`.
    pub fn parse_srepr(&mut self, text: &str) -> Made<SymValue> {
        self.parse_python(text)
    }

    /// The text of an integer as PyTorch prints it.
    pub fn print_python(&self, dim: Dim) -> String {
        self.print_value(SymValue::Int(dim))
    }

    /// The text of a value of any sort as PyTorch prints it.
    pub fn print_value(&self, value: SymValue) -> String {
        print::python(express::tree_of(self, value))
    }

    /// The text of an interned expression of any sort as PyTorch prints it.
    pub fn print_expr(&self, id: ExprId) -> String {
        self.print_python(Dim::Expr(id))
    }

    /// The expression with its sort; `None` for an id that these symbols did not give out.
    pub fn value_of(&self, id: ExprId) -> Option<SymValue> {
        self.expr(id).map(|expr| expr.sorted(id))
    }

    /// sympy's `srepr` of a value, as `.pt2` files hold it.
    pub fn print_srepr(&self, value: SymValue) -> String {
        srepr::srepr(express::tree_of(self, value))
    }
}

/// Evaluation and translation.
impl Symbols {
    /// Binds a symbol (made if it is new) to a value.
    pub fn bind(&mut self, bindings: &mut Bindings, name: &str, value: i64) {
        let symbol = self.symbol_id(name);
        bindings.set(symbol, value);
    }

    /// Binds the symbol that `dim` is; `false` if it is no bare symbol, or has another value already.
    pub fn bind_dim(&self, bindings: &mut Bindings, dim: Dim, value: i64) -> bool {
        match dim {
            Dim::Fixed(number) => number == value,
            Dim::Expr(id) => match self.expr(id) {
                Some(Expr::Symbol(symbol)) => bindings.set(*symbol, value).is_none_or(|old| old == value),
                _ => false,
            },
        }
    }

    /// The value of an integer under the bindings.
    pub fn eval(&self, dim: Dim, bindings: &Bindings) -> Made<i64> {
        Evaluator { symbols: self, bindings }.int(dim)
    }

    /// The value of any sort under the bindings.
    pub fn eval_value(&self, value: SymValue, bindings: &Bindings) -> Made<Number> {
        Evaluator { symbols: self, bindings }.value(value)
    }

    /// Returns a size as a sum of products: each a number, and factors that are no sums themselves, with their powers.
    pub fn products_of(&self, dim: Dim) -> Vec<(i64, Vec<(Dim, u32)>)> {
        let id = match dim {
            Dim::Fixed(v) => return vec![(v, Vec::new())],
            Dim::Expr(id) => id,
        };
        match self.expr(id) {
            Some(Expr::Poly(poly)) => poly
                .terms()
                .map(|(m, number)| (number, m.factors().map(|(atom, power)| (Dim::Expr(atom), power)).collect()))
                .collect(),
            _ => vec![(1, vec![(dim, 1)])],
        }
    }

    /// The symbols that occur, in the order in which they were made, each once.
    pub fn symbols_in(&self, value: SymValue) -> Vec<String> {
        let mut found = Vec::new();
        let mut seen = rustc_hash::FxHashSet::default();
        let mut open: Vec<ExprId> = match value {
            SymValue::Int(Dim::Fixed(_)) => Vec::new(),
            SymValue::Int(Dim::Expr(id)) | SymValue::Float(SymFloat(id)) | SymValue::Bool(SymBool(id)) => vec![id],
        };
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.expr(id) {
                Some(Expr::Symbol(symbol) | Expr::FloatSymbol(symbol)) => found.push(*symbol),
                Some(expr) => open.extend(expr.children()),
                None => {}
            }
        }
        found.sort_unstable();
        found.into_iter().map(|symbol| self.symbol_name(symbol).to_string()).collect()
    }

    /// Puts integers in the place of symbols, by name; symbols for which `with` gives nothing stay.
    pub fn substitute(&mut self, value: SymValue, with: &dyn Fn(&str) -> Option<Dim>) -> Made<SymValue> {
        Rebuild::within(self, with).value(value)
    }

    /// The value of another `Symbols`, here: same symbols by name (a new one takes its range along), same text.
    pub fn import(&mut self, other: &Symbols, value: SymValue) -> Made<SymValue> {
        Rebuild::from(self, other).value(value)
    }

    /// As [`Symbols::import`], for a size.
    pub fn import_dim(&mut self, other: &Symbols, dim: Dim) -> Made<Dim> {
        match self.import(other, SymValue::Int(dim))? {
            SymValue::Int(dim) => Ok(dim),
            SymValue::Float(_) | SymValue::Bool(_) => Ok(dim),
        }
    }
}

/// Prints an `srepr` as PyTorch prints the same expression, without making it canonical: what a loaded `.pt2` shows.
pub fn srepr_to_python(text: &str) -> Made<String> {
    python::tree(text).map(print::python)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_polynomials_are_one_id_and_print_as_pytorch_prints_them() {
        let mut symbols = Symbols::new();
        for (read, printed) in [
            ("2*s77 + s77", "3*s77"),
            ("(s77//((s77//2)))", "(s77//((s77//2)))"),
            ("s77 - (Mod(s77, 8)) + 8", "s77 - (Mod(s77, 8)) + 8"),
            ("8 - (Mod(s77, 8))", "8 - (Mod(s77, 8))"),
            ("-s77 + ((s77//2))", "-s77 + ((s77//2))"),
            ("0.5*ToFloat(s77)", "0.5*ToFloat(s77)"),
            ("u0 >= 2", "u0 >= 2"),
            ("2*s17 + (((3*s17 + 1)//2))", "2*s17 + (((3*s17 + 1)//2))"),
        ] {
            let value = symbols.parse_python(read).unwrap();
            assert_eq!(symbols.print_value(value), printed);
        }
        assert_eq!(symbols.parse_dim("s*(t + 1)").unwrap(), symbols.parse_dim("s*t + s").unwrap());
    }
}
