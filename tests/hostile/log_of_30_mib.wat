;; Logs 30 MiB a line without end.
;; against: lives
;; ends: fault time in run: its time is used up
;; limits: time_seconds = 2.0
(import "airlock:pass/host@0.1.0" "log" (func $log (param i32 i32 i32)))
(memory (export "memory") 1024)
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (loop $again (call $log (i32.const 0) (i32.const 65536) (i32.const 31457280)) (br $again)) unreachable)
