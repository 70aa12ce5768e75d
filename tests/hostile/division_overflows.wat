;; Divides -2^31 by -1.
;; against: lives
;; ends: fault trap in run: integer overflow
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (i32.div_s (i32.const 0x80000000) (i32.const -1)))
