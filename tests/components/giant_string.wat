;; Hands over a text of 60 MiB.
;; against: lives
;; ends: fault host-limit in run: limits.call_bytes
;; limits: memory_bytes = 100000000
(import "airlock:pass/graph@0.1.0" "find" (func $find (param i32 i32 i32 i32)))
(memory (export "memory") 1024)
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32)
  ;; 60 MiB of zeros
  (call $find (i32.const 0) (i32.const 65536) (i32.const 62914560) (i32.const 4096))
  (i32.const 2048))
