;; Makes an integer of NaN.
;; against: lives
;; ends: fault trap in run: invalid conversion to integer
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (i32.trunc_f64_s (f64.const nan)))
