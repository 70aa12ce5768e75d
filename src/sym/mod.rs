//! (being written)
#![allow(missing_docs)]
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ExprId(pub u32);
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Dim {
    Fixed(i64),
    Expr(ExprId),
}
#[derive(Clone, Default, Debug)]
pub struct Symbols {}
impl Symbols {
    pub fn print_python(&self, _d: Dim) -> String {
        String::new()
    }
    pub fn print_expr(&self, _d: ExprId) -> String {
        String::new()
    }
}
