;; Asks about one size of 1,100 powers of sums, the longest text that is read.
;; against: lives
;; ends: unchanged
;; seconds: 20
(import "airlock:pass/graph@0.1.0" "range-of" (func $range-of (param i32 i64 i32 i32)))
(memory (export "memory") 4)
(data (i32.const 8192) "+(s0+s1+1)**22")
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (local i32)
  (local.set 2 (i32.const 131072))
  (loop $again
    (memory.copy (local.get 2) (i32.const 8192) (i32.const 14))
    (local.set 2 (i32.add (local.get 2) (i32.const 14)))
    (br_if $again (i32.lt_u (local.get 2) (i32.const 147000))))
  (call $range-of (i32.const 1) (i64.const 131073) (i32.const 15931) (i32.const 4200))
  (i32.const 2048))
