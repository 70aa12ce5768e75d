;; Reads sub-graphs that there are not.
;; against: lives
;; ends: fault fuel in run: its fuel is used up
;; limits: fuel_base = 300000
(import "airlock:pass/graph@0.1.0" "read-columns" (func $read-columns (param i32 i32)))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (loop $again (call $read-columns (i32.const -1) (i32.const 8192)) (br $again)) unreachable)
