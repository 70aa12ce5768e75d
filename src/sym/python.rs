//! Text into trees: PyTorch's expressions (`2*s77 + 1`, `Max(3, s77)`, `u0 >= 2`) and sympy's `srepr`, which is Python too.
//!
//! Promises: bounded nesting ([`MAX_TREE_DEPTH`], an error beyond it); Python's precedences; errors with column and what was expected.
//! Functions are read by name, known or not: `convert` says which have a meaning.

use super::error::SymError;
use super::expr::Comparison;
use super::lex::{Token, tokens};
use super::tree::{MAX_TREE_DEPTH, Tree};

/// Reads one expression.
pub(super) fn tree(text: &str) -> Result<Tree, SymError> {
    let tokens = tokens(text)?;
    let mut parser = Parser { text, tokens: &tokens, position: 0 };
    let (tree, _) = parser.expression(0, 0)?;
    parser.expect(&Token::End, "an operator or the end")?;
    Ok(tree)
}

struct Parser<'t> {
    text: &'t str,
    tokens: &'t [(usize, Token)],
    position: usize,
}

/// A tree and how deep it is.
type Parsed = (Tree, usize);

/// What stands between the parentheses of a call.
enum Argument {
    Tree(Parsed),
    Quoted(String),
    Named,
}

/// How tightly operators bind to their left and right; Python's order.
fn binding(mark: &str) -> Option<(u8, u8)> {
    Some(match mark {
        "or" => (1, 2),
        "and" => (3, 4),
        "<" | "<=" | ">" | ">=" | "==" | "!=" => (7, 8),
        "|" => (9, 10),
        "^" => (11, 12),
        "&" => (13, 14),
        "<<" | ">>" => (15, 16),
        "+" | "-" => (17, 18),
        "*" | "/" | "//" | "%" => (19, 20),
        "**" => (24, 22),
        _ => return None,
    })
}

const BIND_NOT: u8 = 5;
const BIND_SIGN: u8 = 21;

impl Parser<'_> {
    fn peek(&self) -> &Token {
        self.tokens.get(self.position).map_or(&Token::End, |(_, token)| token)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.position = self.position.saturating_add(1);
        token
    }

    fn fail<T>(&self, expected: &str) -> Result<T, SymError> {
        let column = self.tokens.get(self.position).or(self.tokens.last()).map_or(1, |(column, _)| *column);
        let found = self.peek().shown();
        Err(SymError::Syntax { text: self.text.to_owned(), column, expected: expected.to_owned(), found })
    }

    fn expect(&mut self, token: &Token, expected: &str) -> Result<(), SymError> {
        if self.peek() != token {
            return self.fail(expected);
        }
        self.position = self.position.saturating_add(1);
        Ok(())
    }

    fn operator(&self) -> Option<&'static str> {
        match self.peek() {
            Token::Mark(mark) => Some(mark),
            Token::Name(name) if name == "and" => Some("and"),
            Token::Name(name) if name == "or" => Some("or"),
            _ => None,
        }
    }

    fn expression(&mut self, least: u8, nesting: usize) -> Result<Parsed, SymError> {
        if nesting > MAX_TREE_DEPTH {
            return Err(too_deep());
        }
        let inner = nesting.saturating_add(1);
        let (mut left, mut depth) = self.prefix(inner)?;
        while let Some(mark) = self.operator() {
            let Some((to_left, to_right)) = binding(mark) else { break };
            if to_left < least {
                break;
            }
            self.position = self.position.saturating_add(1);
            let (right, right_depth) = self.expression(to_right, inner)?;
            // A run of one operator is one flat sum or product; any other operator is a level.
            let flat = matches!((mark, &left), ("+" | "-", Tree::Add(_)) | ("*", Tree::Mul(_)));
            depth =
                if flat { depth.max(right_depth.saturating_add(2)) } else { depth.max(right_depth).saturating_add(2) };
            if depth > MAX_TREE_DEPTH {
                return Err(too_deep());
            }
            left = combine(mark, left, right);
        }
        Ok((left, depth))
    }

    fn prefix(&mut self, nesting: usize) -> Result<Parsed, SymError> {
        match self.peek() {
            Token::Int(value) => {
                let leaf = Tree::Int(*value);
                self.leaf(leaf)
            }
            Token::Float(value) => {
                let leaf = Tree::Float(*value);
                self.leaf(leaf)
            }
            Token::Mark("(") => self.bracketed(nesting),
            Token::Mark(mark @ ("-" | "+" | "~")) => {
                let mark = *mark;
                self.sign(mark, nesting)
            }
            Token::Name(name) if name != "and" && name != "or" => {
                let name = name.clone();
                self.name(name, nesting)
            }
            _ => self.fail("a number, a symbol, a function or `(`"),
        }
    }

    fn bracketed(&mut self, nesting: usize) -> Result<Parsed, SymError> {
        self.next();
        let parsed = self.expression(0, nesting)?;
        if *self.peek() == Token::Mark(",") {
            return self.pair(parsed, nesting);
        }
        self.expect(&Token::Mark(")"), "`)` or an operator")?;
        Ok(parsed)
    }

    fn sign(&mut self, mark: &str, nesting: usize) -> Result<Parsed, SymError> {
        self.next();
        let (tree, depth) = self.expression(BIND_SIGN, nesting)?;
        Ok(match mark {
            "-" => (tree.negated(), depth.saturating_add(1)),
            "~" => (Tree::Not(Box::new(tree)), depth.saturating_add(1)),
            _ => (tree, depth),
        })
    }

    fn name(&mut self, name: String, nesting: usize) -> Result<Parsed, SymError> {
        self.next();
        if name == "not" {
            let (tree, depth) = self.expression(BIND_NOT, nesting)?;
            return Ok((Tree::Not(Box::new(tree)), depth.saturating_add(1)));
        }
        if *self.peek() == Token::Mark("(") { self.call(name, nesting) } else { Ok((named(name), 0)) }
    }

    /// The rest of `(value, condition)`, an operand of `Piecewise`.
    fn pair(&mut self, (value, depth): Parsed, nesting: usize) -> Result<Parsed, SymError> {
        self.next();
        let (condition, other) = self.expression(0, nesting)?;
        self.expect(&Token::Mark(")"), "`)` or an operator")?;
        Ok((Tree::call("ExprCondPair", [value, condition]), depth.max(other).saturating_add(1)))
    }

    fn leaf(&mut self, tree: Tree) -> Result<Parsed, SymError> {
        self.next();
        Ok((tree, 0))
    }

    fn call(&mut self, name: String, nesting: usize) -> Result<Parsed, SymError> {
        self.next();
        let mut arguments = Vec::new();
        while *self.peek() != Token::Mark(")") {
            arguments.push(self.argument(nesting)?);
            if *self.peek() != Token::Mark(",") {
                break;
            }
            self.next();
        }
        self.expect(&Token::Mark(")"), "`,` or `)`")?;
        call(name, arguments)
    }

    fn argument(&mut self, nesting: usize) -> Result<Argument, SymError> {
        if let Token::Quoted(content) = self.peek().clone() {
            self.next();
            return Ok(Argument::Quoted(content));
        }
        let after = self.tokens.get(self.position.saturating_add(1)).map(|(_, token)| token);
        if let (Token::Name(_), Some(Token::Mark("="))) = (self.peek(), after) {
            self.position = self.position.saturating_add(2);
            self.expression(0, nesting)?;
            return Ok(Argument::Named);
        }
        self.expression(0, nesting).map(Argument::Tree)
    }
}

fn too_deep() -> SymError {
    SymError::TooLarge { what: "levels of nesting", limit: MAX_TREE_DEPTH }
}

fn named(name: String) -> Tree {
    match name.as_str() {
        "True" | "true" => Tree::Bool(true),
        "False" | "false" => Tree::Bool(false),
        "int_oo" | "oo" => Tree::Infinite(false),
        _ => Tree::Symbol(name),
    }
}

fn combine(mark: &'static str, left: Tree, right: Tree) -> Tree {
    let comparison = |comparison, left, right| Tree::compare(comparison, left, right);
    match mark {
        "+" => Tree::add(vec![left, right]),
        "-" => Tree::add(vec![left, right.negated()]),
        "*" => Tree::mul(vec![left, right]),
        "/" => Tree::call("/", [left, right]),
        "//" => Tree::call("FloorDiv", [left, right]),
        "%" => Tree::call("%", [left, right]),
        "**" => Tree::pow(left, right),
        "<<" => Tree::call("LShift", [left, right]),
        ">>" => Tree::call("RShift", [left, right]),
        "<" => comparison(Comparison::Less, left, right),
        "<=" => comparison(Comparison::LessOrEqual, left, right),
        ">" => comparison(Comparison::Greater, left, right),
        ">=" => comparison(Comparison::GreaterOrEqual, left, right),
        "==" => comparison(Comparison::Equal, left, right),
        "!=" => comparison(Comparison::NotEqual, left, right),
        "and" => match left {
            Tree::And(operands) => Tree::And(with(operands, right)),
            left => Tree::And(vec![left, right]),
        },
        "or" => match left {
            Tree::Or(operands) => Tree::Or(with(operands, right)),
            left => Tree::Or(vec![left, right]),
        },
        "&" => Tree::call("&", [left, right]),
        "|" => Tree::call("|", [left, right]),
        "^" => Tree::call("^", [left, right]),
        other => Tree::call(other, [left, right]),
    }
}

fn with(mut operands: Vec<Tree>, last: Tree) -> Vec<Tree> {
    operands.push(last);
    operands
}

/// Builds what a call means as a tree: sympy's own classes become nodes, all else stays a call.
fn call(name: String, arguments: Vec<Argument>) -> Result<Parsed, SymError> {
    let mut depth = 0usize;
    let mut operands = Vec::new();
    let mut quoted = None;
    let count = arguments.len();
    for argument in arguments {
        match argument {
            Argument::Tree((tree, level)) => {
                depth = depth.max(level);
                operands.push(tree);
            }
            Argument::Quoted(content) => quoted = Some(content),
            Argument::Named => {}
        }
    }
    let depth = depth.saturating_add(1);
    if depth > MAX_TREE_DEPTH {
        return Err(too_deep());
    }
    let counted = |expected| SymError::ArgumentCount { name: name.clone(), expected, found: count };
    let tree = match (name.as_str(), quoted) {
        ("Symbol", Some(symbol)) if operands.is_empty() => Tree::Symbol(symbol),
        ("Float", Some(digits)) if operands.is_empty() => {
            let value = digits.parse().map_err(|_| SymError::Syntax {
                text: digits.clone(),
                column: 1,
                expected: "a float".to_owned(),
                found: format!("'{digits}'"),
            })?;
            Tree::Float(value)
        }
        (_, Some(content)) => {
            return Err(SymError::Sort {
                context: format!("`{name}`"),
                expected: "an expression",
                found: format!("'{content}'"),
                found_sort: "a string",
            });
        }
        ("Integer", None) => match operands.as_slice() {
            [Tree::Int(value)] => Tree::Int(*value),
            _ => return Err(counted("one number as")),
        },
        ("Rational", None) => match operands.as_slice() {
            [Tree::Int(p), Tree::Int(q)] if *q > 0 => Tree::Rational(*p, *q),
            _ => return Err(counted("two integers, the second positive, as")),
        },
        ("Add", None) => Tree::add(operands),
        ("Mul", None) => Tree::mul(operands),
        ("And", None) => Tree::And(operands),
        ("Or", None) => Tree::Or(operands),
        ("Not", None) => {
            let [operand] = take(operands).map_err(|_| counted("one"))?;
            Tree::Not(Box::new(operand))
        }
        ("Pow", None) => {
            let [base, exponent] = take(operands).map_err(|_| counted("two"))?;
            Tree::pow(base, exponent)
        }
        (class, None) => match comparison_named(class) {
            Some(comparison) => {
                let [a, b] = take(operands).map_err(|_| counted("two"))?;
                Tree::compare(comparison, a, b)
            }
            None => Tree::Call(name, operands),
        },
    };
    Ok((tree, depth))
}

fn take<const N: usize>(operands: Vec<Tree>) -> Result<[Tree; N], Vec<Tree>> {
    operands.try_into()
}

fn comparison_named(name: &str) -> Option<Comparison> {
    Some(match name {
        "Eq" | "Equality" => Comparison::Equal,
        "Ne" | "Unequality" => Comparison::NotEqual,
        "Lt" | "StrictLessThan" => Comparison::Less,
        "Le" | "LessThan" => Comparison::LessOrEqual,
        "Gt" | "StrictGreaterThan" => Comparison::Greater,
        "Ge" | "GreaterThan" => Comparison::GreaterOrEqual,
        _ => return None,
    })
}
