//! Where the parts of a program stand in an archive, by the PyTorch that wrote it.
//!
//! PyTorch 2.8 and later lay everything below one folder; 2.5 to 2.7 have five entries and no folder. Leaves reading them to `read`,
//! `weights` and `pickled`.

use std::borrow::Cow;

/// The names of the parts.
pub(super) struct Container {
    /// The program.
    pub(super) program: &'static str,
    /// Pickled parameters and persistent buffers.
    pub(super) weights: &'static str,
    /// Pickled constants and other buffers.
    pub(super) constants: &'static str,
    /// Major versions of the schema. In 7 some fields of 8 are absent; none means something else.
    pub(super) majors: &'static [i64],
    /// Whether the archive states its format and version.
    pub(super) is_stated: bool,
}

/// A folder: PyTorch 2.8 and later. From 2.9 on the weights are not pickled.
pub(super) static FOLDER: Container = Container {
    program: "models/model.json",
    weights: "data/weights/model.pt",
    constants: "data/constants/model.pt",
    majors: &[8],
    is_stated: true,
};

/// No folder: PyTorch 2.5 to 2.7.
pub(super) static FLAT: Container = Container {
    program: "serialized_exported_program.json",
    weights: "serialized_state_dict.pt",
    constants: "serialized_constants.pt",
    majors: &[7, 8],
    is_stated: false,
};

const FLAT_SAMPLES: &str = "serialized_example_inputs.pt";
const FLAT_EXTRA: &str = "extra_files/";

impl Container {
    /// Returns the name that an entry has in a folder, if it is carried through.
    ///
    /// Of the entries without a folder these are the sample inputs and what the user gave along; PyTorch ignores all others.
    pub(super) fn carried<'n>(&self, entry: &'n str) -> Option<Cow<'n, str>> {
        if self.is_stated {
            return Some(Cow::Borrowed(entry));
        }
        match entry.strip_prefix(FLAT_EXTRA) {
            Some(name) => (!name.is_empty()).then(|| Cow::Owned(format!("extra/{name}"))),
            None => (entry == FLAT_SAMPLES).then_some(Cow::Borrowed("data/sample_inputs/model.pt")),
        }
    }
}
