;; Names 7 million users.
;; against: lives
;; ends: unchanged
;; limits: host_bytes = 100000000
(import "airlock:pass/graph@0.1.0" "replace-uses" (func $replace-uses (param i64 i64 i32 i32 i32 i32)))
(memory (export "memory") 1024)
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (call $replace-uses (i64.const 0) (i64.const 1) (i32.const 1) (i32.const 65536) (i32.const 4000000) (i32.const 4096)) (i32.const 2048))
