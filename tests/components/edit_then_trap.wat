;; Erases, then traps.
;; against: graph
;; ends: fault trap in run: unreachable
(import "airlock:pass/graph@0.1.0" "nodes" (func $nodes (param i32 i32)))
(import "airlock:pass/graph@0.1.0" "erase" (func $erase (param i64 i32)))
;; Erases from the last node to the first whatever may be erased.
(func $erase_all
  (local $list i32) (local $left i32)
  (call $nodes (i32.const 0) (i32.const 4200))
  (local.set $list (i32.load (i32.const 4200)))
  (local.set $left (i32.load (i32.const 4204)))
  (loop $again
    (local.set $left (i32.sub (local.get $left) (i32.const 1)))
    (call $erase (i64.load (i32.add (local.get $list) (i32.mul (local.get $left) (i32.const 8)))) (i32.const 4304))
    (br_if $again (local.get $left))))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (call $erase_all) unreachable)
