;; Asks about a new symbol each time.
;; against: lives
;; ends: fault host-limit in run: its calls would fill
(import "airlock:pass/graph@0.1.0" "range-of" (func $range-of (param i32 i64 i32 i32)))
(data (i32.const 8192) "s000000")
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (local i32)
  (loop $again
    ;; counts in letters
    (i32.store (i32.const 8193) (i32.add (i32.const 0x61616161) (i32.and (local.get 2) (i32.const 0x0f0f0f0f))))
    (call $range-of (i32.const 1) (i64.const 8192) (i32.const 7) (i32.const 4200))
    (local.set 2 (i32.add (local.get 2) (i32.const 0x01010101)))
    (local.set 2 (i32.add (local.get 2) (i32.const 1)))
    (br $again)) unreachable)
