;; Asks about a size in 50,000 brackets.
;; against: lives
;; ends: unchanged
(import "airlock:pass/graph@0.1.0" "range-of" (func $range-of (param i32 i64 i32 i32)))
(memory (export "memory") 4)
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (memory.fill (i32.const 131072) (i32.const 40) (i32.const 50000)) (call $range-of (i32.const 1) (i64.const 131072) (i32.const 50000) (i32.const 4200)) (i32.const 2048))
