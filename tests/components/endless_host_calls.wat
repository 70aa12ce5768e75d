;; Calls the host without end.
;; against: lives
;; ends: fault fuel in run: its fuel is used up
(import "airlock:pass/graph@0.1.0" "read-columns" (func $read (param i32 i32)))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32)
  (loop $again
    (call $read (i32.const 0) (i32.const 4096))
    ;; what it got is forgotten, so that memory is not what ends it
    (global.set $top (i32.const 65536))
    (br $again))
  unreachable)
