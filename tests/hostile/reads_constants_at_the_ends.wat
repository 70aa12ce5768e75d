;; Reads weights at 2^64 - 1 and of forged nodes, with the grant.
;; against: reads
;; ends: unchanged
;; more: --grant constants
(import "airlock:pass/constants@0.1.0" "read" (func $read (param i64 i64 i32 i32)))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32)
  (call $read (i64.const 0) (i64.const -1) (i32.const -1) (i32.const 4200))
  (call $read (i64.const 0) (i64.const -1) (i32.const 100) (i32.const 4200))
  (call $read (i64.const -1) (i64.const 0) (i32.const 100) (i32.const 4200))
  (call $read (i64.const 1) (i64.const 0x8000000000000000) (i32.const 1048576) (i32.const 4200))
  (i32.const 2048))
