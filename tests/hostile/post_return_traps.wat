;; Traps when its answer has been read, after it erased.
;; against: graph
;; ends: fault trap in run: unreachable
(import "airlock:pass/graph@0.1.0" "nodes" (func $nodes (param i32 i32)))
(import "airlock:pass/graph@0.1.0" "erase" (func $erase (param i64 i32)))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32)
  (call $nodes (i32.const 0) (i32.const 4200))
  ;; the dead one
  (call $erase (i64.load offset=112 (i32.load (i32.const 4200))) (i32.const 4304))
  (i32.const 2048))
(func (export "cabi_post_airlock:pass/pass@0.1.0#run") (param i32) unreachable)
