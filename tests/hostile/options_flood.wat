;; Asks for options of 1 MiB names without end.
;; against: lives
;; ends: fault time in run: its time is used up
;; limits: time_seconds = 2.0
(import "airlock:pass/host@0.1.0" "get-option" (func $get-option (param i32 i32 i32)))
(memory (export "memory") 64)
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (loop $again (call $get-option (i32.const 65536) (i32.const 1048576) (i32.const 4200)) (br $again)) unreachable)
