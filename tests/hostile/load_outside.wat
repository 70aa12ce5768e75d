;; Reads outside of its memory.
;; against: lives
;; ends: fault trap in run: out of bounds
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (i32.load offset=0xfffffff0 (i32.const -1)))
