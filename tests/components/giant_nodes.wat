;; Hands over 2^28 nodes that are not there.
;; against: lives
;; ends: fault contract in run: 
(import "airlock:pass/graph@0.1.1" "effects-of" (func $effects (param i32 i32 i32)))
(func (export "airlock:pass/pass@0.1.1#run") (param i32 i32) (result i32)
  ;; 2^28 nodes, which are not there
  (call $effects (i32.const 4096) (i32.const 268435456) (i32.const 4096))
  (i32.const 2048))
