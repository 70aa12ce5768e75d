;; Asks for all nodes without end.
;; against: lives
;; ends: fault memory in run: its memory would grow
;; limits: fuel_base = 1000000000
(import "airlock:pass/graph@0.1.0" "nodes" (func $nodes (param i32 i32)))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (loop $again (call $nodes (i32.const 0) (i32.const 4200)) (br $again)) unreachable)
