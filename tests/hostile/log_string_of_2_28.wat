;; Logs a text of 2^28 bytes.
;; against: lives
;; ends: fault host-limit in run: limits.call_bytes
;; limits: memory_bytes = 300000000
;; mebibytes: 512
(import "airlock:pass/host@0.1.0" "log" (func $log (param i32 i32 i32)))
(memory (export "memory") 4097)
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (call $log (i32.const 0) (i32.const 65536) (i32.const 268435456)) (i32.const 2048))
