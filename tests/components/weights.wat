;; Reads weights without the grant.
;; against: reads
;; ends: unchanged: needs the grant `constants`
;; Logs eight bytes of what the first nodes stand for, from the fourth on, or why there are none.
(import "airlock:pass/constants@0.1.0" "read" (func $read (param i64 i64 i32 i32)))
(import "airlock:pass/host@0.1.0" "log" (func $log (param i32 i32 i32)))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32)
  (local $node i64)
  (loop $again
    (call $read (local.get $node) (i64.const 4) (i32.const 8) (i32.const 4096))
    (if (i32.load8_u (i32.const 4096))
      (then (call $log (i32.const 1) (i32.load (i32.const 4140)) (i32.load (i32.const 4144))))
      (else (call $log (i32.const 1) (i32.load (i32.const 4104)) (i32.load (i32.const 4108)))))
    (local.set $node (i64.add (local.get $node) (i64.const 1)))
    (br_if $again (i64.lt_u (local.get $node) (i64.const 3))))
  (i32.const 2048))
