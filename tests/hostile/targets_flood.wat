;; Asks what 100,000 operators of no name do, without end.
;; against: lives
;; ends: fault time in run: its time is used up
;; limits: time_seconds = 2.0
(import "airlock:pass/graph@0.1.1" "effects-of-target" (func $effects (param i32 i32 i32)))
(memory (export "memory") 64)
(func (export "airlock:pass/pass@0.1.1#run") (param i32 i32) (result i32)
  (loop $again (call $effects (i32.const 1048576) (i32.const 100000) (i32.const 4200)) (global.set $top (i32.const 65536)) (br $again)) unreachable)
