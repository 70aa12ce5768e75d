;; Asks what a million nodes do, without end.
;; against: lives
;; ends: fault time in run: its time is used up
;; limits: time_seconds = 1.0
(import "airlock:pass/graph@0.1.1" "effects-of" (func $effects (param i32 i32 i32)))
(memory (export "memory") 320)
(func (export "airlock:pass/pass@0.1.1#run") (param i32 i32) (result i32)
  (loop $again
    ;; what the first node of the graph does, a million times: zeros are its id
    (call $effects (i32.const 8388608) (i32.const 1000000) (i32.const 4096))
    ;; it is answered, not refused
    (if (i32.load8_u (i32.const 4096)) (then unreachable))
    ;; what it got is forgotten, so that memory is not what ends it
    (global.set $top (i32.const 65536))
    (br $again))
  unreachable)
