;; Calls the host when it is asked for memory.
;; against: graph
;; ends: fault trap in run: 
(import "airlock:pass/graph@0.1.0" "nodes" (func $nodes (param i32 i32)))
(func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
  (call $nodes (i32.const 0) (i32.const 4200))
  (i32.const 65536))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32)
  (call $nodes (i32.const 0) (i32.const 4200))
  (i32.const 2048))
