;; Loops when the host asks for memory.
;; against: lives
;; ends: fault fuel in run: its fuel is used up
(import "airlock:pass/graph@0.1.0" "nodes" (func $nodes (param i32 i32)))
(func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (loop $again (br $again)) unreachable)
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32)
  (call $nodes (i32.const 0) (i32.const 4200))
  (i32.const 2048))
