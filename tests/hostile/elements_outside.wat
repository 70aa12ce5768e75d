;; Begins with elements outside of its table.
;; against: lives
;; ends: fault trap in start: 
(table $t 1 funcref) (func $f) (elem (table $t) (i32.const 100) func $f)
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (i32.const 2048))
