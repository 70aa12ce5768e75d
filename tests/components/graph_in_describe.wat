;; Uses the graph in `describe`.
;; against: reads
;; ends: fault contract in describe: may not be called before `run`
(import "airlock:pass/graph@0.1.0" "nodes" (func $nodes (param i32 i32)))
(func (export "airlock:pass/pass@0.1.0#describe") (result i32) (call $nodes (i32.const 0) (i32.const 4200)) (i32.const 2048))
