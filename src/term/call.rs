//! Arguments in canonical form: by parameter, defaults filled in, operands taken out as children.
//!
//! Promises: two calls with equal tokens and equal children were given the same arguments, however they were spelled
//! (by position, by keyword, or left at the default; a size as a number or as a node that is that number).

use smallvec::SmallVec;

use crate::graph::{Arg, NodeId, ValueType, View};
use crate::ops::{Bound, Operator};
use crate::sym::Dim;
use crate::term::sizes::Sizes;
use crate::term::term::Token;

/// Tokens, and the nodes that stand where a token is [`Token::Child`].
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// In the order of the schema.
    pub tokens: Vec<Token>,
    /// In the order of the tokens.
    pub operands: SmallVec<[NodeId; 4]>,
}

impl Arguments {
    /// Returns the arguments of a call that is bound to a schema.
    pub fn bound(view: &dyn View, operator: &Operator, bound: &Bound<'_>, sizes: &mut Sizes<'_>) -> Self {
        let mut out = Arguments::default();
        for (param, arg) in operator.schema.params.iter().zip(bound.args.iter()) {
            let Some(count) = stands_for(&param.ty, arg) else {
                out.push(view, arg, sizes);
                continue;
            };
            out.tokens.push(Token::List(count));
            for _ in 0..count {
                out.push(view, arg, sizes);
            }
        }
        for (key, arg) in &bound.extra {
            if let Some(key) = key {
                out.tokens.push(Token::Key(view.texts().text(*key).into()));
            }
            out.push(view, arg, sizes);
        }
        out
    }

    /// Returns the arguments of a call that nobody described, as they are written.
    pub fn written(view: &dyn View, node: NodeId, sizes: &mut Sizes<'_>) -> Self {
        let mut out = Arguments::default();
        out.tokens.push(Token::List(view.args(node).len()));
        for arg in view.args(node) {
            out.push(view, arg, sizes);
        }
        for (key, arg) in view.kwargs(node) {
            out.tokens.push(Token::Key(view.texts().text(*key).into()));
            out.push(view, arg, sizes);
        }
        out
    }

    fn push(&mut self, view: &dyn View, arg: &Arg, sizes: &mut Sizes<'_>) {
        let mut open = vec![(None, arg)];
        while let Some((key, arg)) = open.pop() {
            if let Some(key) = key {
                self.tokens.push(Token::Key(key));
            }
            match arg {
                Arg::Node(n) => self.push_node(view, *n, sizes),
                Arg::List(items) | Arg::Tuple(items) => {
                    self.tokens.push(Token::List(items.len()));
                    open.extend(items.iter().rev().map(|a| (None, a)));
                }
                Arg::Dict(items) => {
                    self.tokens.push(Token::List(items.len()));
                    open.extend(items.iter().rev().map(|(k, a)| (Some(k.clone()), a)));
                }
                scalar => self.tokens.extend(Token::scalar(scalar)),
            }
        }
    }

    fn push_node(&mut self, view: &dyn View, node: NodeId, sizes: &mut Sizes<'_>) {
        match view.ty(node) {
            // A number that is somebody's word is not that number.
            _ if view.hearsay(node).sizes() => {
                self.tokens.push(Token::Child);
                self.operands.push(node);
            }
            ValueType::SymInt(Dim::Fixed(v)) => self.tokens.push(Token::Int(*v)),
            ValueType::SymInt(dim) if sizes.is_settled(*dim) => self.tokens.push(Token::Dim(*dim)),
            _ => {
                self.tokens.push(Token::Child);
                self.operands.push(node);
            }
        }
    }
}

/// How many elements one number stands for, where the schema has a list of a size (`int[2]`): PyTorch fills the list with it.
fn stands_for(ty: &crate::ops::SchemaType, arg: &Arg) -> Option<usize> {
    let Arg::Int(_) = arg else { return None };
    ty.suffixes.iter().find_map(|s| match s {
        crate::ops::Suffix::List(Some(count)) => usize::try_from(*count).ok().filter(|n| *n <= MOST),
        _ => None,
    })
}

/// Lists of a size in schemas are short.
const MOST: usize = 16;
