//! The serialized model, as it is handed to the C++ part: one graph.

use prost::Message;

use super::form::FileError;
use crate::lower::ge::proto::{GraphDef, ModelDef};

/// Returns the bytes of a model of that graph alone, without a copy of it.
pub(super) fn write(graph: &GraphDef) -> Vec<u8> {
    const GRAPH: u32 = 7;
    let mut bytes = Vec::with_capacity(prost::encoding::message::encoded_len(GRAPH, graph));
    prost::encoding::message::encode(GRAPH, graph, &mut bytes);
    bytes
}

/// Returns the graph of a serialized model.
pub fn read(bytes: &[u8]) -> Result<GraphDef, FileError> {
    let model = ModelDef::decode(bytes).map_err(|source| FileError::Decode { source })?;
    let found = model.graph.len();
    let mut graphs = model.graph.into_iter();
    match (graphs.next(), graphs.next()) {
        (Some(graph), None) => Ok(graph),
        _ => Err(FileError::GraphCount { found }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_is_written_as_the_only_one_of_a_model() {
        let graph = GraphDef { name: "g".into(), ..GraphDef::default() };
        let model = ModelDef { graph: vec![graph.clone()], ..ModelDef::default() };
        assert_eq!(write(&graph), model.encode_to_vec());
    }

    #[test]
    fn bytes_that_are_no_model_are_an_error() {
        assert!(matches!(read(b"\xff\xff\xff"), Err(FileError::Decode { .. })));
        assert!(matches!(read(b""), Err(FileError::GraphCount { found: 0 })));
    }
}
