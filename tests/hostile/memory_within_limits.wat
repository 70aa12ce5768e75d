;; Fills all the memory that it may have.
;; against: lives
;; ends: unchanged
;; limits: fuel_base = 100000000
(memory (export "memory") 1024)
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (memory.fill (i32.const 65536) (i32.const 1) (i32.const 67043328)) (i32.const 2048))
