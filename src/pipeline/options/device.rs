//! What is handed to the device beside a GE graph: GE's own names, and texts, as TorchAir passes them.

use std::collections::BTreeMap;

use super::CompilerOptions;
use crate::graph::{BodyId, Graph, InputKind, NodeId, NodeKind, View};
use crate::lower::ge::{Draft, Lowered};
use crate::sym::Dim;

/// Returns what is taken of the device because options tell it to compute otherwise than the graph states.
pub fn assumed(options: &CompilerOptions) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(policy) = options.text("torch_aie.precision_policy") {
        found.push(format!(
            "precision_policy = {policy}: what the device rounds beyond the graph changes nothing that counts"
        ));
    }
    if options.flag("torch_aie.truncate_long_and_double") == Some(true) {
        found.push("truncate_long_and_double: no number needs more than 32 bits".into());
    }
    found
}

/// Returns the options of the device for a lowered graph, by GE's names.
pub fn device_options(options: &CompilerOptions, graph: &Graph, lowered: &Lowered<Draft>) -> BTreeMap<String, String> {
    let mut all = Options(BTreeMap::new(), options);
    all.always();
    all.of_the_graph(graph, lowered);
    all.stated();
    if lowered.graph.kinds().any(|kind| matches!(kind, "HcomSend" | "HcomReceive")) {
        // Both ends must come to their exchanges in one order.
        all.set("ge.topoSortingMode", "3");
    }
    all.0
}

struct Options<'a>(BTreeMap<String, String>, &'a CompilerOptions);

impl Options<'_> {
    fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }

    fn flag(&self, name: &str) -> bool {
        self.1.flag(name) == Some(true)
    }

    /// Sets a truth value in one of GE's two spellings.
    fn switch(&mut self, name: &str, option: &str, spelling: [&str; 2]) {
        let [off, on] = spelling;
        self.set(name, if self.flag(option) { on } else { off });
    }

    /// Sets what was stated, and nothing where it was not.
    fn given(&mut self, name: &str, option: &str) {
        if let Some(text) = self.1.text(option) {
            self.set(name, text);
        }
    }

    fn always(&mut self) {
        for (name, value) in [
            ("ge.exec.staticMemoryPolicy", "2"),
            ("ge.opSelectImplmode", "high_precision"),
            ("ge.exec.atomicCleanPolicy", "1"),
            ("ge.deterministic", "0"),
            ("ge.deterministicLevel", "0"),
            ("ge.jit_compile", "2"),
        ] {
            self.set(name, value);
        }
    }

    fn of_the_graph(&mut self, graph: &Graph, lowered: &Lowered<Draft>) {
        let written = &lowered.host.output_ref_input;
        let outputs = lowered.graph.attribute("_output_dtypes").and_then(|a| a.as_list()).map_or(0, |l| l.i.len());
        let own: Vec<String> = (0..outputs).map(|o| o.to_string()).filter(|o| !written.contains_key(o)).collect();
        if !own.is_empty() {
            self.set("ge.exec.outputReuseMemIndexes", own.join(","));
        }
        let placements = lowered.graph.attribute("_input_placements").and_then(|a| a.as_list());
        let on_device = |i: usize| placements.and_then(|p| p.i.get(i)) == Some(&1);
        if !written.is_empty() && written.values().all(|i| on_device(*i)) {
            let mut pairs: Vec<(usize, usize)> =
                written.iter().filter_map(|(o, i)| Some((o.parse().ok()?, *i))).collect();
            pairs.sort_unstable();
            let pairs: Vec<String> = pairs.into_iter().map(|(o, i)| format!("{i},{o}")).collect();
            self.set("ge.exec.outputReuseInputMemIndexes", pairs.join("|"));
        }
        self.set("ge.exec.allTensorNotEmpty", if lowered.has_empty { "0" } else { "1" });
        let nodes: Vec<NodeId> =
            graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Placeholder).collect();
        let inputs: Vec<Input> = lowered.host.ge_inputs.iter().map(|from| Input::of(graph, &nodes, from)).collect();
        let shapes: Vec<String> =
            inputs.iter().enumerate().map(|(i, input)| format!("{i}:[{}]", input.sizes.join(", "))).collect();
        self.set("ge.inputHintShape", shapes.join(";"));
        let frozen = self.flag("experimental_config.frozen_parameter");
        let flags: Vec<&str> = inputs
            .iter()
            .enumerate()
            .map(|(i, input)| if frozen && input.is_parameter && on_device(i) { "1" } else { "0" })
            .collect();
        if !flags.is_empty() {
            self.set("frozenInput", flags.join(","));
        }
    }

    fn stated(&mut self) {
        let (bits, words) = (["0", "1"], ["false", "true"]);
        self.switch("ge.exec.enableEngineParallel", "experimental_config.cc_parallel_enable", bits);
        self.switch("ge.tiling_schedule_optimize", "experimental_config.tiling_schedule_optimize", bits);
        self.switch("ge.featureBaseRefreshable", "experimental_config.memory_efficiency", bits);
        self.switch("ge.enableSingleStream", "ge_config.enable_single_stream", words);
        self.set("ge.oo.level", "O3");
        self.given("ge.oo.level", "ge_config.oo_level");
        self.given("ge.oo.constantFolding", "ge_config.oo_constant_folding");
        self.given("ge.oo.deadCodeElimination", "ge_config.oo_dead_code_elimination");
        self.set("ge.exportCompileStat", "2");
        self.given("ge.exportCompileStat", "ge_config.export_compile_stat");
        self.given("ge.aicoreNum", "ge_config.aicore_num");
        self.given("ge.optimizationSwitch", "ge_config.optimization_switch");
        self.given("ge.exec.static_model_ops_lower_limit", "experimental_config.static_model_ops_lower_limit");
        self.given("ge.fusionSwitchFile", "fusion_config.fusion_switch_file");
        self.given("ge_dump_with_acl_config", "dump_config.dump_config_path");
        let sorting = self.1.text("experimental_config.topology_sorting_strategy");
        let number = match sorting.as_deref() {
            // Nothing optimized, in the order in which it stands.
            _ if self.1.text("ge_config.oo_level").as_deref() == Some("O1") => "3",
            Some("BFS") => "0",
            Some("RDFS") => "2",
            Some("StableRDFS") => "3",
            _ => "1",
        };
        self.set("ge.topoSortingMode", number);
        if self.flag("dump_config.enable_dump") {
            self.dump();
        }
        if self.1.text("aoe_config.aoe_mode").is_some() {
            self.set("work_path", "./");
            for name in ["aoe_mode", "work_path", "aoe_config_file"] {
                self.given(name, &format!("aoe_config.{name}"));
            }
        }
        for name in ["precision_policy", "truncate_long_and_double", "optimization_level"] {
            let name = format!("torch_aie.{name}");
            self.given(&name, &name);
        }
    }

    fn dump(&mut self) {
        self.set("ge.exec.enableDump", "1");
        self.switch("ge.quant_dumpable", "dump_config.quant_dumpable", ["0", "1"]);
        for (name, option, default) in [
            ("ge.exec.dumpPath", "dump_path", "./"),
            ("ge.exec.dumpMode", "dump_mode", "all"),
            ("ge.exec.dumpData", "dump_data", "tensor"),
            ("ge.exec.dumpStep", "dump_step", ""),
            ("ge.exec.dumpLayer", "dump_layer", ""),
        ] {
            let value = self.1.text(&format!("dump_config.{option}")).unwrap_or_else(|| default.into());
            if !value.is_empty() {
                self.set(name, value);
            }
        }
    }
}

/// A Data of the graph, as the host feeds it.
#[derive(Default)]
struct Input {
    sizes: Vec<String>,
    is_parameter: bool,
}

impl Input {
    fn of(graph: &Graph, inputs: &[NodeId], from: &str) -> Self {
        let inner = from.strip_prefix("contiguous(").and_then(|f| f.strip_suffix(')'));
        let place = inner.unwrap_or(from).strip_prefix("fx:").and_then(|i| i.parse::<usize>().ok());
        if let Some((place, node)) = place.and_then(|i| Some((i, *inputs.get(i)?))) {
            let size = |d: &Dim| d.fixed().unwrap_or(-1).to_string();
            let sizes = graph.ty(node).as_tensor().map(|t| t.sizes.iter().map(size).collect());
            let spec = graph.signature.as_ref().and_then(|s| s.inputs.get(place));
            // What is made dense on the way is another tensor each time.
            let is_parameter = inner.is_none() && spec.is_some_and(|s| s.kind == InputKind::Parameter);
            return Self { sizes: sizes.unwrap_or_default(), is_parameter };
        }
        match from.strip_prefix("pack:") {
            Some(packed) => Self { sizes: vec![packed.split(',').count().to_string()], is_parameter: false },
            None => Self::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::text;
    use crate::lower::ge;
    use crate::ops::Registry;

    fn options(stated: &str) -> BTreeMap<String, String> {
        let body = "class GraphModule(torch.nn.Module):\n    def forward(self, s0: \"Sym(s0)\", x: \"f32[s0, 3]\", y: \"f32[2]\"):\n        a: \"f32[s0, 3]\" = torch.ops.aten.relu.default(x)\n        w: \"f32[2]\" = torch.ops.aten.copy_.default(y, y)\n        return (a,)\n";
        let graph = text::read(body, &text::ReadOptions::of_file("t")).unwrap();
        let lowered = ge::draft(&graph, &ge::Options::default(), &Registry::standard()).unwrap();
        device_options(&CompilerOptions::read(&stated.parse().unwrap()).unwrap(), &graph, &lowered)
    }

    #[test]
    fn what_is_always_set_and_what_the_graph_says_is_there() {
        let all = options("");
        for (name, value) in [
            ("ge.exec.staticMemoryPolicy", "2"),
            ("ge.opSelectImplmode", "high_precision"),
            ("ge.topoSortingMode", "1"),
            ("ge.inputHintShape", "0:[-1, 3];1:[2]"),
            ("ge.exec.allTensorNotEmpty", "1"),
            ("frozenInput", "0,0"),
        ] {
            assert_eq!(all.get(name).map(String::as_str), Some(value), "{name} in {all:?}");
        }
        assert!(!all.contains_key("ge.exec.enableDump"), "{all:?}");
    }

    #[test]
    fn what_is_stated_is_passed_by_ges_names() {
        let all =
            options("ge_config.oo_level = 'O1'\nge_config.enable_single_stream = true\ndump_config.enable_dump = true");
        assert_eq!((all["ge.oo.level"].as_str(), all["ge.topoSortingMode"].as_str()), ("O1", "3"));
        assert_eq!((all["ge.enableSingleStream"].as_str(), all["ge.exec.dumpMode"].as_str()), ("true", "all"));
    }
}
