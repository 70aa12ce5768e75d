;; Asks for the kind of every id.
;; against: lives
;; ends: fault fuel in run: its fuel is used up
;; limits: fuel_base = 1000000
(import "airlock:pass/graph@0.1.0" "kind" (func $kind (param i64 i32)))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (local i64) (loop $again (call $kind (local.get 2) (i32.const 4200)) (global.set $top (i32.const 65536)) (local.set 2 (i64.add (local.get 2) (i64.const 0x100000001))) (br $again)) unreachable)
