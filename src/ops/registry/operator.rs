//! One operator: schema, effects, type rule, facts.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::graph::{Graph, ValueType};
use crate::ops::error::CallFault;
use crate::ops::facts::Facts;
use crate::ops::facts::effects::{Effects, Marks};
use crate::ops::families;
use crate::ops::registry::lowering::Lowering;
use crate::ops::schema::Schema;
use crate::ops::typing::call::Call;
use crate::ops::typing::require::Need;

/// Types a call whose arguments are bound.
pub type Rule = fn(&mut Call<'_>) -> Result<ValueType, CallFault>;

/// Namespaces of Python functions and of higher-order operators: their targets have no overload.
const BARE: &[&str] = &["_operator", "torch", "math", "builtins", "higher_order"];

/// Returns whether targets of a namespace have no overload.
pub(in crate::ops) fn is_bare(namespace: &str) -> bool {
    BARE.contains(&namespace)
}

/// An operator's meaning as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meaning {
    /// A function in the text form.
    pub text: Box<str>,
    /// The line of the operator file on which it begins, from 1.
    pub line: usize,
}

/// An operator of the registry.
#[derive(Clone, Debug)]
pub struct Operator {
    /// The target of calls: `aten.add.Tensor`, `_operator.mul`, `higher_order.cond`.
    pub target: Box<str>,
    /// The family that it stands in; its namespace where no table says.
    pub family: Box<str>,
    /// How it is called.
    pub schema: Schema,
    /// What it does beside its results.
    pub effects: Effects,
    /// Types its results; `None`: annotations are believed.
    pub rule: Option<Rule>,
    /// What its calls must fulfil before the rule is asked.
    pub(in crate::ops) needs: SmallVec<[Need; 1]>,
    /// The operator that gives as a new tensor what this one writes (`add` of `add_`), as an index of the registry.
    pub(in crate::ops) functional: Option<usize>,
    /// The operator that gives all that this one writes as further results.
    pub(in crate::ops) apart: Option<usize>,
    /// Whether its first two tensor arguments may be exchanged bit for bit, where all others have their defaults.
    pub commutes: bool,
    /// Whether it applies element by element.
    pub pointwise: bool,
    /// What its marks state beside effects.
    pub facts: Facts,
    /// Its meaning in other operators as text, where an operator file gives one.
    pub meaning: Option<Meaning>,
    /// That text as a graph, once it was read and checked: placeholders named as the parameters, one output.
    pub body: Option<Arc<Graph>>,
    /// The GE operator that it becomes, where an operator file says so.
    pub lowering: Option<Lowering>,
    /// What an operator file says about it.
    pub about: Option<Box<str>>,
}

impl Operator {
    pub(in crate::ops) fn new(schema: Schema, marks: &Marks) -> Self {
        let target =
            if is_bare(&schema.namespace) { format!("{}.{}", schema.namespace, schema.name) } else { schema.target() };
        let effects = Effects::derive(&schema, marks);
        let rule = families::default_rule(&schema, &effects);
        Operator {
            target: target.into(),
            family: schema.namespace.clone(),
            schema,
            effects,
            rule,
            needs: SmallVec::new(),
            functional: None,
            apart: None,
            commutes: marks.commutes,
            pointwise: marks.pointwise,
            facts: marks.facts.clone(),
            meaning: None,
            body: None,
            lowering: None,
            about: None,
        }
    }

    /// Returns the target without overload: `aten.add`.
    pub fn packet(&self) -> String {
        format!("{}.{}", self.schema.namespace, self.schema.name)
    }

    /// Returns whether the operator means its definition in this registry and nothing else. PyTorch's own operators refuse what their kernels
    /// refuse, whatever they are made of.
    pub fn means_its_definition(&self) -> bool {
        &*self.schema.namespace == "npu"
    }

    /// Returns the parameter of which the first result surely is a view, or which it is.
    pub fn view_of(&self) -> Option<usize> {
        self.effects.view_of()
    }

    /// Returns whether the results surely lie in an argument's memory, and nothing is written.
    pub fn is_view(&self) -> bool {
        self.view_of().is_some() && !self.effects.writes()
    }
}
