;; Hands over 2^31 - 1 edits.
;; against: lives
;; ends: fault contract in run: 
(import "airlock:pass/graph@0.1.0" "apply" (func $apply (param i32 i32 i32)))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32)
  ;; 2^31 - 1 edits, which are not there
  (call $apply (i32.const 4096) (i32.const 2147483647) (i32.const 4096))
  (i32.const 2048))
