;; Names 10^8 users.
;; against: lives
;; ends: fault contract in run: 
(import "airlock:pass/graph@0.1.0" "replace-uses" (func $replace-uses (param i64 i64 i32 i32 i32 i32)))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (call $replace-uses (i64.const 0) (i64.const 0) (i32.const 1) (i32.const 65536) (i32.const 100000000) (i32.const 4096)) (i32.const 2048))
