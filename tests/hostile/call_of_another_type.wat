;; Calls a function as one of another type.
;; against: lives
;; ends: fault trap in run: indirect call type mismatch
(table $t 4 funcref) (func $g (param i64)) (elem (table $t) (i32.const 0) func $g) (type $f (func)) (func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (call_indirect $t (type $f) (i32.const 0)) (i32.const 2048))
