;; Begins with data outside of its memory.
;; against: lives
;; ends: fault trap in start: 
(data (i32.const 0x7fffffff) "x")
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (i32.const 2048))
