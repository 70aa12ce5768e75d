//! Inputs that show a difference, and what they show.
//!
//! Promises: the inputs are those of the graph as it was given, complete; the words are those of the run that showed it. Leaves files to
//! `formats`.

use serde::Serialize;

use crate::exec::{Tensor, Value};
use crate::graph::Dtype;
use crate::verify::differ::error::{Difference, Shows};
use crate::verify::differ::lies::Lies;
use crate::verify::differ::regimes::Values;
use crate::verify::differ::sizes::Sizes;
use crate::verify::differ::subject::Subject;
use crate::verify::differ::trials::Trial;
use crate::verify::verdict::{Finding, Question, Verdict};

/// The values of one input.
#[derive(Clone, PartialEq, Debug)]
pub struct Held {
    /// The input's name.
    pub name: String,
    /// Element type; `None` of a number.
    pub dtype: Option<Dtype>,
    /// Sizes.
    pub sizes: Vec<usize>,
    /// Strides, where it does not lie row by row.
    pub strides: Option<Vec<usize>>,
    /// Row-major.
    pub values: Values,
}

/// Inputs that show a difference.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Witness {
    /// What they show.
    pub shows: Shows,
    /// Which output, or which input's final content.
    pub output: String,
    /// The element.
    pub element: Vec<usize>,
    /// Its value before.
    pub before: String,
    /// Its value after.
    pub after: String,
    /// Its value in the wide run of the graph before.
    pub wide: Option<f64>,
    /// How far after lies from that, in units of roundoff.
    pub units: Option<f64>,
    /// How the inputs were made.
    pub regime: String,
    /// The sizes of symbols.
    pub sizes: Sizes,
    /// Whether inputs that may be the same memory were.
    pub aliased: bool,
    /// The inputs.
    #[serde(skip)]
    pub inputs: Vec<Held>,
}

impl Witness {
    /// Keeps what a trial showed.
    pub(super) fn of(
        subject: &Subject<'_>,
        sizes: &Sizes,
        trial: &Trial,
        inputs: &[Value],
        difference: Difference,
    ) -> Witness {
        let held = subject.inputs.iter().zip(inputs).filter_map(|(i, v)| held(&i.name, v));
        Witness {
            shows: difference.shows,
            output: difference.what,
            element: difference.index,
            before: difference.before,
            after: difference.after,
            wide: difference.wide,
            units: difference.units,
            regime: match trial.lies {
                Lies::Contiguous => format!("{:?}", trial.regime),
                lies => format!("{:?}, {lies:?}", trial.regime),
            },
            sizes: sizes.clone(),
            aliased: trial.aliased,
            inputs: held.collect(),
        }
    }

    /// Returns what it shows in a sentence.
    pub fn sentence(&self) -> String {
        let element = if self.element.is_empty() { String::new() } else { format!(" at {:?}", self.element) };
        let sizes: Vec<String> = self.sizes.iter().map(|(n, v)| format!("{n} = {v}")).collect();
        let sizes = if sizes.is_empty() { String::new() } else { format!(" with {}", sizes.join(", ")) };
        let strides =
            self.inputs.iter().filter_map(|h| Some(format!("strides {:?} of `{}`", h.strides.as_ref()?, h.name)));
        let strides: Vec<String> = strides.collect();
        let strides = if strides.is_empty() { String::new() } else { format!(" with {}", strides.join(", ")) };
        let wide = self.wide.map_or(String::new(), |w| format!(", {w} in a wide run of the graph before"));
        let units = self.units.map_or(String::new(), |u| format!(" ({u:.0} units of roundoff off)"));
        format!("{}{element}: {} before, {} after{wide}{units}{sizes}{strides}", self.output, self.before, self.after)
    }

    /// Returns the verdict that this refutes.
    pub fn refutes(self, verdict: Verdict) -> Verdict {
        let effects = matches!(self.shows, Shows::Raises | Shows::StopsRaising | Shows::Sharing | Shows::Draws);
        let question = if effects { Question::Effects } else { Question::Values };
        let reason = self.sentence();
        let mut verdict = Verdict { verdict: Finding::Refuted, question: Some(question), ..verdict };
        for answer in verdict.answers.iter_mut().filter(|a| a.question == question) {
            (answer.finding, answer.level, answer.evidence) = (Finding::Refuted, None, None);
            answer.reasons.insert(0, reason.clone());
        }
        if !verdict.open.contains(&question) {
            verdict.open.push(question);
            verdict.open.sort();
        }
        Verdict { accepted: false, reason, witness: Some(self), ..verdict }
    }
}

/// Keeps the values of an input.
pub(super) fn held(name: &str, value: &Value) -> Option<Held> {
    let name = name.to_string();
    let number = |values| Some(Held { name: name.clone(), dtype: None, sizes: Vec::new(), strides: None, values });
    match value {
        Value::Tensor(t) => {
            let strides = (*t.meta.strides != *Lies::Contiguous.strides(t.sizes())).then(|| t.meta.strides.to_vec());
            Some(Held { dtype: Some(t.dtype()), sizes: t.sizes().to_vec(), strides, values: values(t)?, name })
        }
        Value::Int(v) => number(Values::Whole(vec![*v])),
        Value::Float(v) => number(Values::Floats(vec![*v])),
        Value::Bool(v) => number(Values::Whole(vec![i64::from(*v)])),
        _ => None,
    }
}

/// Returns the values of a tensor; `None` where no number is one.
pub fn values(t: &Tensor) -> Option<Values> {
    Some(match t.dtype().is_float() || t.dtype().is_complex() {
        true => Values::Floats(t.parts().ok()?),
        false => Values::Whole(t.lanes::<i64>().ok()?.to_vec()),
    })
}
