;; Calls an element that is not there.
;; against: lives
;; ends: fault trap in run: 
(table $t 4 funcref) (type $f (func)) (func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (call_indirect $t (type $f) (i32.const 2)) (i32.const 2048))
