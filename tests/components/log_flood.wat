;; Logs 5,000 lines of escapes.
;; against: words
;; ends: unchanged: \\u{1b}[2Jred alert
(import "airlock:pass/host@0.1.0" "log" (func $log (param i32 i32 i32)))
(data (i32.const 4096) "\1b[2Jred alert")
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32)
  (local $left i32)
  (local.set $left (i32.const 5000))
  (loop $again
    (call $log (i32.const 2) (i32.const 4096) (i32.const 13))
    (br_if $again (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
  (i32.const 2048))
