;; Lets the host write an answer where no memory is.
;; against: lives
;; ends: fault contract in run: 
(import "airlock:pass/graph@0.1.0" "nodes" (func $nodes (param i32 i32)))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (call $nodes (i32.const 0) (i32.const -4)) (i32.const 2048))
