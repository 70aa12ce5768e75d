;; Divides by zero.
;; against: lives
;; ends: fault trap in run: integer divide by zero
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (i32.div_u (i32.const 1) (local.get 1)))
