;; Reads at every power of two of addresses until one is not there.
;; against: lives
;; ends: fault trap in run: out of bounds
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (local i32)
  (local.set 2 (i32.const 1))
  (loop $again (drop (i64.load (local.get 2))) (local.set 2 (i32.shl (local.get 2) (i32.const 1))) (br_if $again (local.get 2)))
  (i32.const 2048))
