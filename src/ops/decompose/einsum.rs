//! Einstein sums, by sums and batched products of matrices.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[(Real, einsum, &["aten.einsum.default"])];

/// A place in a term: a letter, or one of the dimensions that `...` stands for, counted from the last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    Ellipsis(usize),
    Letter(char),
}

/// A tensor and what each of its dimensions is called.
#[derive(Clone)]
struct Term<'b> {
    t: T<'b>,
    labels: Vec<Label>,
}

fn einsum(b: &Builder<'_>) -> Made {
    let text: String = b.text(0).chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = text.split_once("->").map_or((text.as_str(), None), |(l, r)| (l, Some(r)));
    let tensors = b.ts(1)?;
    let parts: Vec<&str> = left.split(',').collect();
    b.only(parts.len() == tensors.len(), "another number of terms than of tensors")?;
    let mut terms = Vec::new();
    for (t, part) in tensors.iter().zip(parts) {
        let labels = labels(b, part, t.rank())?;
        let once = labels.iter().all(|l| labels.iter().filter(|o| *o == l).count() == 1);
        b.only(once && labels.len() == t.rank(), "a letter that stands twice in a term")?;
        terms.push(Term { t: *t, labels });
    }
    let all: Vec<Label> = terms.iter().flat_map(|t| t.labels.clone()).collect();
    let covered = all.iter().filter_map(|l| if let Label::Ellipsis(k) = l { Some(k.saturating_add(1)) } else { None });
    let covered = covered.max().unwrap_or(0);
    let result = match right {
        Some(text) => labels(b, text, text.replace("...", "").len().saturating_add(covered))?,
        None => implied(&all, covered),
    };
    let mut rest = terms.into_iter();
    let Some(mut made) = rest.next() else { return Err(b.unsupported("no operand")) };
    let later: Vec<Term<'_>> = rest.collect();
    for (i, next) in later.iter().enumerate() {
        let behind = later.iter().skip(i.saturating_add(1)).flat_map(|t| &t.labels);
        let needed: Vec<Label> = result.iter().chain(behind).copied().collect();
        made = product(b, &made, next, &needed)?;
    }
    let made = summed(made, |l| result.contains(&l));
    b.only(result.iter().all(|l| made.labels.contains(l)), "a result of labels that no operand has")?;
    done![made.ordered(&result)]
}

fn labels(b: &Builder<'_>, term: &str, rank: usize) -> Result<Vec<Label>, CallFault> {
    let (before, after) = term.split_once("...").map_or((term, None), |(x, y)| (x, Some(y)));
    let letters = |part: &str| part.chars().map(Label::Letter).collect::<Vec<_>>();
    b.only(before.chars().chain(after.unwrap_or("").chars()).all(|c| c.is_ascii_alphabetic()), "this equation")?;
    let mut all = letters(before);
    if let Some(after) = after {
        let own = rank.saturating_sub(all.len().saturating_add(after.len()));
        all.extend((0..own).rev().map(Label::Ellipsis));
        all.extend(letters(after));
    }
    Ok(all)
}

/// What is not written: `...`, then the letters that occur once, in their order.
fn implied(all: &[Label], covered: usize) -> Vec<Label> {
    let mut letters: Vec<Label> = all.iter().copied().filter(|l| matches!(l, Label::Letter(_))).collect();
    letters.sort_unstable();
    let once = letters.iter().filter(|l| letters.iter().filter(|o| o == l).count() == 1).copied();
    (0..covered).rev().map(Label::Ellipsis).chain(once).collect()
}

impl<'b> Term<'b> {
    fn place(&self, label: Label) -> Option<i64> {
        self.labels.iter().position(|l| *l == label).map(signed)
    }

    fn ordered(&self, labels: &[Label]) -> T<'b> {
        let order: Vec<i64> = labels.iter().filter_map(|l| self.place(*l)).collect();
        if order.is_sorted() { self.t } else { self.t.permute(&order) }
    }

    fn size(&self, label: Label) -> Arg {
        self.place(label).map_or(Arg::Int(1), |d| self.t.size(d))
    }
}

/// Sums over the dimensions that are not kept.
fn summed(term: Term<'_>, keep: impl Fn(Label) -> bool) -> Term<'_> {
    let gone: Vec<i64> = term.labels.iter().filter(|l| !keep(**l)).filter_map(|l| term.place(*l)).collect();
    if gone.is_empty() {
        return term;
    }
    Term { t: term.t.sum(&gone, false), labels: term.labels.iter().copied().filter(|l| keep(*l)).collect() }
}

/// The product of two terms, summed over what nobody needs later.
fn product<'b>(b: &'b Builder<'_>, x: &Term<'b>, y: &Term<'b>, needed: &[Label]) -> Result<Term<'b>, CallFault> {
    let x = summed(x.clone(), |l| needed.contains(&l) || y.labels.contains(&l));
    let y = summed(y.clone(), |l| needed.contains(&l) || x.labels.contains(&l));
    let (both, only_x): (Vec<Label>, Vec<Label>) = x.labels.iter().partition(|l| y.labels.contains(l));
    let only_y: Vec<Label> = y.labels.iter().copied().filter(|l| !x.labels.contains(l)).collect();
    for label in &both {
        let (p, q) = (x.place(*label).map(|d| x.t.dim(d)), y.place(*label).map(|d| y.t.dim(d)));
        b.only(p == q, "sizes that broadcast")?;
    }
    let (batch, gone): (Vec<Label>, Vec<Label>) = both.iter().partition(|l| needed.contains(l));
    let count =
        |term: &Term<'b>, labels: &[Label]| b.size_product(&labels.iter().map(|l| term.size(*l)).collect::<Vec<_>>());
    let joined = |parts: [&[Label]; 3]| parts.concat();
    let left = x.ordered(&joined([&batch, &only_x, &gone]));
    let right = y.ordered(&joined([&batch, &gone, &only_y]));
    let left = left.reshape(vec![count(&x, &batch), count(&x, &only_x), count(&x, &gone)]);
    let right = right.reshape(vec![count(&y, &batch), count(&y, &gone), count(&y, &only_y)]);
    let sizes = batch.iter().chain(&only_x).map(|l| x.size(*l)).chain(only_y.iter().map(|l| y.size(*l)));
    let made = b.op("bmm", args![left, right]).reshape(sizes.collect::<Vec<_>>());
    Ok(Term { t: made, labels: joined([&batch, &only_x, &only_y]) })
}
