;; Writes outside of its memory.
;; against: lives
;; ends: fault trap in run: out of bounds
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (i64.store offset=0xffffffff (i32.const -1) (i64.const -1)) (i32.const 2048))
