;; Logs without end.
;; against: lives
;; ends: fault fuel in run: its fuel is used up
;; limits: fuel_base = 1000000
(import "airlock:pass/host@0.1.0" "log" (func $log (param i32 i32 i32)))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (loop $again (call $log (i32.const 0) (i32.const 512) (i32.const 7)) (br $again)) unreachable)
