;; Looks for what another run has left in its memory.
;; against: reads
;; ends: unchanged: nothing but zeros
;; limits: fuel_base = 1000000000
(import "airlock:pass/host@0.1.0" "log" (func $log (param i32 i32 i32)))
(data (i32.const 4096) "nothing but zeros")
(memory (export "memory") 512)
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (local i32)
  (local.set 2 (i32.const 65536))
  (loop $again
    (if (i64.ne (i64.load (local.get 2)) (i64.const 0)) (then unreachable))
    (local.set 2 (i32.add (local.get 2) (i32.const 8)))
    (br_if $again (i32.lt_u (local.get 2) (i32.const 33554432))))
  (call $log (i32.const 1) (i32.const 4096) (i32.const 17))
  (i32.const 2048))
