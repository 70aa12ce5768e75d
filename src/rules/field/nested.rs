//! The greatest of what is the least of some, and the other way around.
//!
//! Promises: of a few numbers every nesting of the greater and the lesser one has one form: the greatest of the least of those that are enough, or the
//! least of the greatest, whichever names fewer.

use std::rc::Rc;

use crate::rules::field::normal::Field;
use crate::rules::field::poly::{Atom, Function, Poly};

/// Of how many numbers.
const MOST: usize = 6;
/// How deep they may be nested.
const DEEP: usize = 8;

/// For which choices of the numbers a nesting of them is at least what these are: a bit for each choice.
type Table = u64;

impl Field<'_> {
    /// Returns the greatest of some of which one is the least of others; `None` within where none is, or where they are made of many.
    pub(super) fn greatest_of_nested(&mut self, all: &[Rc<Poly>]) -> Option<Option<Poly>> {
        if self.signs || !all.iter().any(|p| extremes(p).is_some_and(|(number, _)| number < 0.0)) {
            return Some(None);
        }
        let mut atoms: Vec<Rc<Poly>> = Vec::new();
        let mut table: Table = 0;
        for one in all {
            let Some(own) = self.table_of(one, &mut atoms, DEEP)? else { return Some(None) };
            table |= own;
        }
        let choices = 1_u32.checked_shl(u32::try_from(atoms.len()).ok()?)?;
        let least = least_choices(choices, |chosen| holds(table, chosen));
        let dual = least_choices(choices, |chosen| !holds(table, choices.wrapping_sub(1) & !chosen));
        let names = |sets: &[u32]| sets.iter().map(|s| s.count_ones()).sum::<u32>();
        // Of both ways alike, that of the numbers as they are and not of their opposites.
        let opposite = |p: &Rc<Poly>| p.terms.first().is_some_and(|t| t.number < 0.0);
        let falls = atoms.iter().filter(|p| opposite(p)).count();
        let falls = falls > atoms.len().saturating_sub(falls);
        if names(&least) < names(&dual) || names(&least) == names(&dual) && !falls {
            let mut each = Vec::new();
            for set in least {
                each.push(Rc::new(self.least_of(&chosen(&atoms, set))?));
            }
            return self.greatest_of_these(each).map(Some);
        }
        let mut each = Vec::new();
        for set in dual {
            each.push(Rc::new(self.greatest_of_these(chosen(&atoms, set))?));
        }
        self.least_of(&each).map(Some)
    }

    fn least_of(&mut self, all: &[Rc<Poly>]) -> Option<Poly> {
        if let [one] = all {
            return Some((**one).clone());
        }
        let mut minus = Vec::new();
        for one in all {
            minus.push(Rc::new(self.plus(&Poly::default(), one, -1.0)?));
        }
        let most = self.greatest_of_these(minus)?;
        self.plus(&Poly::default(), &most, -1.0)
    }

    fn table_of(&mut self, p: &Rc<Poly>, atoms: &mut Vec<Rc<Poly>>, depth: usize) -> Option<Option<Table>> {
        let depth = depth.checked_sub(1)?;
        if let Some((number, kids)) = extremes(p) {
            let mut table: Option<Table> = None;
            for kid in kids.iter() {
                let scaled = Rc::new(self.plus(&Poly::default(), kid, number)?);
                let Some(own) = self.table_of(&scaled, atoms, depth)? else { return Some(None) };
                table = Some(match table {
                    None => own,
                    Some(before) if number > 0.0 => before | own,
                    Some(before) => before & own,
                });
            }
            return Some(table);
        }
        for (k, known) in atoms.clone().iter().enumerate() {
            if self.same(known, p, &[])? {
                return Some(Some(alone(k)));
            }
        }
        atoms.push(p.clone());
        Some((atoms.len() <= MOST).then(|| alone(atoms.len().saturating_sub(1))))
    }
}

/// The greatest that all of a sum is, times a number: which is below 0 where it is a least.
fn extremes(p: &Poly) -> Option<(f64, Rc<[Rc<Poly>]>)> {
    let [term] = p.terms.as_slice() else { return None };
    match (term.binders.is_empty(), term.factors.as_slice()) {
        (true, [(Atom::Call(Function::Max, kids), 1)]) => Some((term.number, kids.clone())),
        _ => None,
    }
}

fn alone(atom: usize) -> Table {
    (0..Table::BITS).filter(|choice| choice >> atom & 1 == 1).fold(0, |table, choice| table | 1 << choice)
}

fn holds(table: Table, choice: u32) -> bool {
    table >> choice & 1 == 1
}

/// The choices that are enough, of which no part is.
fn least_choices(choices: u32, enough: impl Fn(u32) -> bool) -> Vec<u32> {
    let all: Vec<u32> = (0..choices).filter(|c| enough(*c)).collect();
    let is_least = |c: &u32| !all.iter().any(|other| other != c && other & c == *other);
    all.iter().copied().filter(is_least).collect()
}

fn chosen(atoms: &[Rc<Poly>], set: u32) -> Vec<Rc<Poly>> {
    atoms.iter().enumerate().filter(|(k, _)| set >> k & 1 == 1).map(|(_, p)| p.clone()).collect()
}
