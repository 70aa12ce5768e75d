;; Fills 60 MiB again and again.
;; against: lives
;; ends: fault fuel in run: its fuel is used up
;; limits: fuel_base = 100000000
(memory (export "memory") 1024)
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (loop $again (memory.fill (i32.const 65536) (i32.const 1) (i32.const 60000000)) (br $again)) unreachable)
