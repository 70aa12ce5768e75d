;; Lets the host write an answer over its own data.
;; against: graph
;; ends: unchanged
(import "airlock:pass/graph@0.1.0" "nodes" (func $nodes (param i32 i32)))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (call $nodes (i32.const 0) (i32.const 0)) (call $nodes (i32.const 0) (i32.const 1024)) (memory.fill (i32.const 2048) (i32.const 0) (i32.const 64)) (i32.const 2048))
