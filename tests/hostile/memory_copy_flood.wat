;; Copies 30 MiB again and again.
;; against: lives
;; ends: fault fuel in run: its fuel is used up
;; limits: fuel_base = 100000000
(memory (export "memory") 1024)
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (loop $again (memory.copy (i32.const 65536) (i32.const 33554432) (i32.const 31457280)) (br $again)) unreachable)
