//! What the host does around a GE graph: where inputs come from, where outputs go, which memory is written.

use std::collections::BTreeMap;

/// The host's side of a lowered graph.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Deserialize, serde::Serialize)]
pub struct Host {
    /// One an FX output: `ge:i`, `view-of-input:i` (made outside from FX input i), `sym:EXPR`, `const`, `none`.
    #[serde(default)]
    pub fx_outputs: Vec<String>,
    /// One a Data index: `fx:i`, `contiguous(fx:i)`, `sym:i`, `pack:i,j`, `rng-offsets`.
    #[serde(default)]
    pub ge_inputs: Vec<String>,
    /// GE output to the GE input whose memory it writes.
    #[serde(default)]
    pub output_ref_input: BTreeMap<String, usize>,
    /// The seed with which draws of random numbers begin; none where nothing is drawn, or nobody says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
}

/// Why a description of the host's side cannot be read.
#[derive(thiserror::Error, Debug)]
#[error("not a description of a recorded GE graph (meta.toml): {source}")]
pub struct HostError {
    #[from]
    source: toml::de::Error,
}

impl Host {
    /// Reads the fields that a recorded case's `meta.toml` states.
    pub fn from_toml(text: &str) -> Result<Self, HostError> {
        Ok(toml::from_str(text)?)
    }
}

/// Returns how two host sides differ, in words.
pub fn compare_host(ours: &Host, reference: &Host) -> Vec<String> {
    let mut found = Vec::new();
    if ours.fx_outputs != reference.fx_outputs {
        found.push(format!("FX outputs: {:?} here, {:?} there", ours.fx_outputs, reference.fx_outputs));
    }
    if ours.ge_inputs != reference.ge_inputs {
        found.push(format!("GE inputs: {:?} here, {:?} there", ours.ge_inputs, reference.ge_inputs));
    }
    if ours.output_ref_input != reference.output_ref_input {
        let (a, b) = (&ours.output_ref_input, &reference.output_ref_input);
        found.push(format!("outputs written into inputs: {a:?} here, {b:?} there"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_host_side_counts() {
        let text = "fx_outputs = [\"ge:0\"]\nge_inputs = [\"fx:1\"]\noutput_ref_input = {\"0\" = 1}\nname = \"x\"";
        let host = Host::from_toml(text).unwrap();
        assert!(compare_host(&host, &host.clone()).is_empty());
        let twins = [
            Host { fx_outputs: vec!["ge:1".into()], ..host.clone() },
            Host { ge_inputs: vec!["contiguous(fx:1)".into()], ..host.clone() },
            Host { output_ref_input: [("0".into(), 0)].into(), ..host.clone() },
        ];
        for twin in twins {
            assert_eq!(compare_host(&host, &twin).len(), 1);
        }
    }
}
